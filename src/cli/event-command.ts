import type { Command } from 'commander'
import type { Query } from '../admin/parse.ts'
import type { AdminCalls, AnswerOf, OperationId } from '../admin/routes.ts'
import type { ListJson } from '../admin/wire.ts'
import { InboxError } from '../base/errors.ts'
import { parseCount } from './arguments.ts'
import { commandLine, host } from './host.ts'
import { withConfigOption, type ConfigOption } from './settings.ts'
import { openEvents, type OpenedEvents } from './open-events.ts'
import { printNote, printResult, renderTable, withOutputOptions, type OutputOptions } from './output.ts'
import { eventTypes, networkIds } from '../../schema/index.ts'
import { internalEventTypes } from '../../schema/internal.ts'
import { nearest } from '../base/edit-distance.ts'
import { safeText } from '../base/log.ts'

/** Options of commands on the inbox. */
export interface EventCommandOptions extends OutputOptions, ConfigOption {
  readonly adminUrl?: string
}

/** Adds the options of commands on the inbox, and to its help an example and a `note`. */
export function asEventCommand(command: Command, example: string, note = ''): Command {
  command.option('--admin-url <url>', 'URL of the admin API (default: from the settings)')
  return withOutputOptions(withConfigOption(command), 'print one JSON document, as in the admin API').addHelpText(
    'after',
    `${note && `\n${note}\n`}\nExample:\n  $ onchain-inbox ${example}`,
  )
}

/** A command on the same inbox that works as printed. */
export function eventCommandLine(words: string, { adminUrl }: EventCommandOptions): string {
  return commandLine(adminUrl === undefined ? words : `${words} --admin-url ${adminUrl}`)
}

type Request = Parameters<AdminCalls['call']>[1]

interface Call<Id extends OperationId, Argument, Options extends EventCommandOptions> {
  readonly example: string
  readonly note?: string
  /** The request for the argument and options. Default: the argument is the id. */
  readonly toRequest?: (argument: Argument, options: Options) => Request
  readonly render: (answer: AnswerOf<Id>, options: EventCommandOptions) => string
  /** Exit code for an answer; default: 0. */
  readonly exitCode?: (answer: AnswerOf<Id>) => 0 | 1
}

/** Adds options and action of a command that makes one call, and prints the answer. */
export function asCallCommand<
  Id extends OperationId,
  Argument = string | undefined,
  Options extends EventCommandOptions = EventCommandOptions,
>(command: Command, operation: Id, call: Call<Id, Argument, Options>): void {
  const { example, note, render, exitCode = () => 0 } = call
  const toRequest = call.toRequest ?? ((id: Argument) => (typeof id === 'string' ? { id } : {}))
  asEventCommand(command, example, note).action(async (...given: readonly unknown[]) => {
    const isNamed = command.registeredArguments.length > 0
    const options = given[isNamed ? 1 : 0] as Options
    const request = toRequest((isNamed ? given[0] : undefined) as Argument, options)
    await withEvents(options, async (opened) => {
      const answer = await opened.call(operation, request)
      printResult(answer, options, () => render(answer, options))
      host().exitCode = exitCode(answer)
    })
  })
}

/** Opens the inbox for `work`, and closes it afterwards. */
export async function withEvents(
  options: EventCommandOptions,
  work: (events: OpenedEvents) => Promise<void>,
): Promise<void> {
  // Opening a database may write a copy of it, which only its owner may read.
  process.umask(0o077)
  const events = await openEvents(options)
  try {
    await work(events)
  } finally {
    await events.close()
  }
}

/** Collects `limit` items, page by page. A page may be short or empty although more follow. */
export async function collect<Page extends ListJson<unknown>>(
  fetchPage: (query: Query) => Promise<Page>,
  query: Query,
  limit: number,
  maxPerPage = 200,
): Promise<Page> {
  const data: Page['data'] = []
  const seen = new Set<unknown>()
  let { cursor } = query
  for (;;) {
    const wanted = Math.min(limit - data.length, maxPerPage)
    const page = await fetchPage({ ...query, limit: String(wanted), ...(cursor === undefined ? {} : { cursor }) })
    data.push(...page.data)
    if (page.next_cursor === null || data.length >= limit) return { ...page, data }
    cursor = page.next_cursor
    if (seen.has(cursor)) throw new InboxError('api_refused', 'the list never ends: its next_cursor repeats')
    seen.add(cursor)
  }
}

interface List<Row> {
  /** Options passed on unchanged. */
  readonly filters?: readonly string[]
  readonly example: string
  readonly fetch: (events: OpenedEvents, query: Query) => Promise<ListJson<Row>>
  /** Printed for an empty list. */
  readonly none: string
  readonly columns: Readonly<Record<string, (row: Row) => string>>
}

/** Adds options and action of a list command. */
export function asListCommand<Row>(command: Command, { filters = [], example, fetch, none, columns }: List<Row>): void {
  command
    .option('--limit <number>', 'how many to list', parseCount, 50)
    .option('--cursor <cursor>', 'continue after an earlier list')
  asEventCommand(command, example).action(
    async (options: EventCommandOptions & { readonly limit: number; readonly [filter: string]: unknown }) => {
      const query = definedOf(options, [...filters, 'cursor'])
      noteUnknownNames(query)
      await withEvents(options, async (events) => {
        const found = await collect((page) => fetch(events, page), query, options.limit)
        printResult(found, options, (list) => {
          const rows = list.data.map((row) => Object.values(columns).map((cell) => cell(row)))
          return `${rows.length === 0 ? none : renderTable(Object.keys(columns), rows)}${moreLine(list)}`
        })
      })
    },
  )
}

/** The set options with these names. */
export function definedOf(options: object, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(options).filter(([name, value]) => names.includes(name) && value !== undefined),
  )
}

/** The only element of `ways`. Throws `usage` unless there is exactly one. */
export function onlyWay<T>(ways: readonly T[], expected: string): T {
  const [way] = ways
  if (way !== undefined && ways.length === 1) return way
  throw new InboxError('usage', `expected either ${expected}`)
}

/** The line below a table that names the next page. */
export function moreLine(list: Pick<ListJson<unknown>, 'next_cursor'>): string {
  return list.next_cursor === null ? '' : `\n\nmore: --cursor ${list.next_cursor}`
}

/** Notes a filter value that no documented event has: it may exist (R127), but is more often mistyped. */
export function noteUnknownNames({ type, network }: { readonly type?: string; readonly network?: string }): void {
  note('type', type, [...eventTypes, ...internalEventTypes])
  note('network', network, networkIds)
}

function note(option: string, given: string | undefined, known: readonly string[]): void {
  if (given === undefined || known.includes(given)) return
  printNote(`note: --${option}: no documented ${option} is called ${safeText(given, 100)}${nearest(given, known)}`)
}
