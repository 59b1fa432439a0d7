import { Option, type Command } from 'commander'
import type { Query } from '../admin/parse.ts'
import type { AdminCalls, AnswerOf, OperationId } from '../admin/routes.ts'
import type { ListJson } from '../admin/wire.ts'
import { InboxError } from '../base/errors.ts'
import { parseCount } from './arguments.ts'
import { commandLine, host } from './host.ts'
import { withConfigOption, type ConfigOption } from './settings.ts'
import { openInboxCalls, type InboxCalls, type InboxCallsOptions } from './inbox-calls.ts'
import { printNote, printResult, withExamples, withOutputOptions, type OutputOptions } from './output.ts'
import { renderList } from './table.ts'
import { defaultSource } from '../inbox/port.ts'
import { eventTypes, networkIds } from '../../schema/index.ts'
import { internalEventTypes } from '../../schema/internal.ts'
import { nearest } from '../base/edit-distance.ts'
import { safeText } from '../base/log.ts'

/** Options of all commands on the inbox. */
export interface InboxOptions extends OutputOptions, ConfigOption {
  readonly adminUrl?: string
}

/** Adds the options of commands on the inbox, and to its help a `note` and an example. */
export function withInboxOptions(command: Command, example: string, note = ''): Command {
  command.option('--admin-url <url>', 'URL of the admin API (default: from the settings)')
  withOutputOptions(withConfigOption(command), 'print one JSON document, as in the admin API')
  return withExamples(command, [example], note)
}

/** Command line for hints: same inbox, ready to paste. */
export function inboxCommandLine(words: string, { adminUrl }: InboxOptions): string {
  return commandLine(adminUrl === undefined ? words : `${words} --admin-url ${adminUrl}`)
}

/** Opens the inbox for `work`, and closes it afterwards. */
export async function withInbox<T>(options: InboxCallsOptions, work: (opened: InboxCalls) => Promise<T>): Promise<T> {
  const opened = await openInboxCalls(options)
  try {
    return await work(opened)
  } finally {
    await opened.close()
  }
}

type Parse = (text: string, before: never) => unknown

/** Help of a command, and its words on the command line. */
interface Usage {
  readonly description: string
  readonly argument?: readonly [name: string, help: string, parse?: Parse]
  readonly options?: readonly Option[]
  readonly example: string
  readonly note?: string
}

export function option(flags: string, help: string, parse?: Parse): Option {
  const declaration = new Option(flags, help)
  return parse === undefined ? declaration : declaration.argParser(parse as (text: string, before: unknown) => unknown)
}

/** Adds the command `name` below `parent`. `prepare` checks its arguments, and returns the work for the open inbox. */
export function addInboxCommand<Value, Options extends InboxOptions = InboxOptions>(
  parent: Command,
  name: string,
  { description, argument, options: declared = [], example, note }: Usage,
  prepare: (value: Value, options: Options) => (opened: InboxCalls) => Promise<void>,
): void {
  const command = parent.command(name).description(description)
  if (argument !== undefined) command.argument(...(argument as readonly [string, string]))
  for (const declaredOption of declared) command.addOption(declaredOption)
  withInboxOptions(command, example, note).action(async (...values: readonly unknown[]) => {
    const options = values.at(-2) as Options
    await withInbox(options, prepare((argument && values[0]) as Value, options))
  })
}

type Request = Parameters<AdminCalls['call']>[1]

interface Call<Id extends OperationId, Value, Options> extends Usage {
  /** The request for the argument's value and the options. Default: the value is the id. */
  readonly toRequest?: (value: Value, options: Options) => Request
  readonly render: (answer: AnswerOf<Id>, options: Options, value: Value) => string
  /** Exit code for an answer; default: 0. */
  readonly exitCode?: (answer: AnswerOf<Id>, value: Value) => 0 | 1
}

/** Adds a command that makes one call, and prints the answer. */
export function addCallCommand<
  Id extends OperationId,
  Value = string | undefined,
  Options extends InboxOptions = InboxOptions,
>(parent: Command, name: string, operation: Id, call: Call<Id, Value, Options>): void {
  const { render, exitCode = () => 0, toRequest = (id) => (typeof id === 'string' ? { id } : {}) } = call
  addInboxCommand<Value, Options>(parent, name, call, (value, options) => {
    const request = toRequest(value, options)
    return async (opened) => {
      const answer = await opened.call(operation, request)
      printResult(answer, options, () => render(answer, options, value))
      host().exitCode = exitCode(answer, value)
    }
  })
}

/** Operations that answer with pages. */
type ListId = { [Id in OperationId]: AnswerOf<Id> extends ListJson<object> ? Id : never }[OperationId]

interface List extends Usage {
  /** Fields of the rows, separated by spaces. */
  readonly columns: string
  /** Printed for an empty list. */
  readonly none: string
}

/** Adds a command that lists items page by page. Its options are parameters of the operation. */
export function addListCommand<Id extends ListId>(parent: Command, name: string, operation: Id, list: List): void {
  const { options: filters = [], columns, none } = list
  const paging = [
    option('--limit <number>', 'how many to list', parseCount).default(50),
    option('--cursor <cursor>', 'continue after an earlier list'),
  ]
  const usage = { ...list, options: [...filters, ...paging] }
  addInboxCommand<undefined, InboxOptions & { readonly limit: number }>(parent, name, usage, (_, options) => {
    const query = definedOf(options, [...filters.map((filter) => filter.attributeName()), 'cursor'])
    noteUnknownNames(query)
    return async (opened) => {
      const items = await collect((page) => opened.call(operation, { query: page }), query, options.limit)
      printResult(items, options, ({ data, next_cursor }) => renderList(columns.split(' '), data, next_cursor, none))
    }
  })
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

/** The options among `names` that have a value. */
export function definedOf(options: object, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(options).filter(([name, value]) => names.includes(name) && value !== undefined),
  )
}

/** The selection of a bulk action as the admin API takes it. `ids`: an object with one member. Throws `usage` unless it is unambiguous. */
export function selectionOf(
  ids: Readonly<Record<string, readonly unknown[]>>,
  isAll: boolean | undefined,
  filter: Readonly<Record<string, string>>,
  expected: string,
): object {
  const selections = [
    ...(Object.values(ids).flat().length === 0 ? [] : [ids]),
    ...(isAll === true ? [{ all: true }] : []),
    ...(Object.keys(filter).length === 0 ? [] : [{ filter }]),
  ]
  const [selection] = selections
  if (selection !== undefined && selections.length === 1) return selection
  throw new InboxError('usage', `expected exactly one of: ${expected}`)
}

interface NamedFilter {
  readonly source?: string
  readonly type?: string
  readonly network?: string
}

/** Notes a filter value that no documented event has: it may exist (R127), but is more often mistyped. Other sources have other types. */
export function noteUnknownNames({ source = defaultSource, type, network }: NamedFilter): void {
  if (source !== defaultSource) return
  note('type', type, [...eventTypes, ...internalEventTypes])
  note('network', network, networkIds)
}

function note(option: string, value: string | undefined, known: readonly string[]): void {
  if (value === undefined || known.includes(value)) return
  printNote(`note: --${option}: no documented ${option} is called ${safeText(value, 100)}${nearest(value, known)}`)
}

/** Exit code of an action on named items: 1 if none of them was changed. */
export function exitCodeOf(changed: number, named: readonly unknown[] = []): 0 | 1 {
  return changed === 0 && named.length > 0 ? 1 : 0
}
