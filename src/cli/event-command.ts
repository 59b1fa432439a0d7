import type { Command } from 'commander'
import type { Query } from '../admin/parse.ts'
import type { ListJson } from '../admin/wire.ts'
import { InboxError } from '../base/errors.ts'
import { parseCount } from './arguments.ts'
import { withConfigOption, type ConfigOption } from './settings.ts'
import { openEvents, type OpenedEvents } from './open-events.ts'
import { printNote, printResult, renderTable, withOutputOptions, type OutputOptions } from './output.ts'
import { eventTypes, networkIds } from '../../schema/index.ts'
import { internalEventTypes } from '../../schema/internal.ts'
import { nearest } from '../base/edit-distance.ts'
import { safeText } from '../base/log.ts'

/** Options of every command on events. */
export interface EventCommandOptions extends OutputOptions, ConfigOption {
  readonly adminUrl?: string
}

/** Gives a command the options of commands on events, and an example in its help. */
export function asEventCommand(command: Command, example: string): Command {
  command.option('--admin-url <url>', 'the admin side of the sidecar (default: as its settings say)')
  return withOutputOptions(withConfigOption(command), 'print one JSON document, as the admin API gives it').addHelpText(
    'after',
    `\nExample:\n  $ onchain-inbox ${example}`,
  )
}

/** Opens the events for `work`, and closes them after it. */
export async function withEvents(
  options: EventCommandOptions,
  work: (events: OpenedEvents) => Promise<void>,
): Promise<void> {
  // What opening the database may write, a copy of it above all, is for its own user only.
  process.umask(0o077)
  const events = await openEvents(options)
  try {
    await work(events)
  } finally {
    await events.close()
  }
}

/** Collects `limit` items, page by page. A page may come short, or empty, with more behind it. */
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
    if (seen.has(cursor)) throw new InboxError('api_refused', 'the list never ends: its next_cursor came before')
    seen.add(cursor)
  }
}

interface List<Row> {
  /** Options that are passed on as they are. */
  readonly filters?: readonly string[]
  readonly example: string
  readonly fetch: (events: OpenedEvents, query: Query) => Promise<ListJson<Row>>
  /** Printed where there is nothing to list. */
  readonly none: string
  readonly columns: Readonly<Record<string, (row: Row) => string>>
}

/** Makes a command list something, page by page up to `--limit`. */
export function asListCommand<Row>(command: Command, { filters = [], example, fetch, none, columns }: List<Row>): void {
  command
    .option('--limit <number>', 'how many', parseCount, 50)
    .option('--cursor <cursor>', 'go on behind an earlier list')
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

/** The options of these names that were given. */
export function definedOf(options: object, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(options).filter(([name, value]) => names.includes(name) && value !== undefined),
  )
}

/** The only one of the ways to choose something that was given. Throws `usage` unless it is exactly one. */
export function onlyWay<T>(ways: readonly T[], expected: string): T {
  const [way] = ways
  if (way !== undefined && ways.length === 1) return way
  throw new InboxError('usage', `expected either ${expected}`)
}

/** How to get the next page, under a table. */
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
