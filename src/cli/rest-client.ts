import { resolve } from 'node:path'
import type { Command } from 'commander'
import { ApiError, createClient, type ApiClient, type PageOf } from '../client/index.ts'
import { processEnvironment } from '../config.ts'
import { parseSettings } from '../config/parse.ts'
import { collectSettings, type GivenSettings } from '../config/sources.ts'
import { InboxError } from '../errors.ts'
import { readSecretFile } from '../secret-file.ts'
import { printError, withOutputOptions, type OutputOptions } from './output.ts'
import { readSecretArgument } from './secret-argument.ts'

/** Options of every command on the REST service. */
export interface RestCommandOptions extends OutputOptions {
  readonly apiUrl?: string
  readonly apiKey?: string
  readonly config?: string
}

/** Those of a command that lists. */
export interface RestListOptions extends RestCommandOptions {
  readonly limit: number
  readonly cursor?: string
}

/** Gives a command the options that say where the service is. */
export function withApiOptions(command: Command): Command {
  return command
    .option('--api-url <url>', 'the REST service (default: INBOX_API_URL)')
    .option('--api-key <key>', 'its key, as @file, - or env:NAME (default: INBOX_API_KEY)')
}

/** The same for a command on the service alone, with an example in its help. */
export function asRestCommand(command: Command, example: string): Command {
  withApiOptions(command).option(
    '--config <file>',
    'the config file (default: onchain-inbox.config.{ts,js,mjs} in this folder, if there)',
  )
  return withOutputOptions(command, 'print one JSON document, every number as the service wrote it').addHelpText(
    'after',
    `\nExample:\n  $ onchain-inbox ${example}`,
  )
}

/** Asks the service for `work`, and reports what failed. */
export async function withApi(options: RestCommandOptions, work: (api: ApiClient) => Promise<void>): Promise<void> {
  try {
    const { url, key } = await readApiSettings(options)
    await work(createClient({ baseUrl: url, apiKey: key }))
  } catch (error) {
    process.exitCode = printError(toInboxError(error), options)
  }
}

const needed = ['INBOX_API_URL', 'INBOX_API_KEY', 'INBOX_API_KEY_FILE'] as const

/**
 * Where the service is, and the key for it: from options, environment or config file. A key on the command line is never a literal,
 * unless the service is on this machine.
 *
 * @throws InboxError `usage` or `config_invalid`, never with the key
 */
export async function readApiSettings(
  options: Omit<RestCommandOptions, keyof OutputOptions>,
): Promise<{ readonly url: string; readonly key: string }> {
  const cwd = process.cwd()
  const given = await collectSettings({
    env: processEnvironment(),
    cwd,
    ...(options.config !== undefined && { configFile: options.config }),
  })
  const picked: Partial<Record<keyof GivenSettings['values'], unknown>> = {}
  for (const name of needed) if (name in given.values) picked[name] = given.values[name]
  const { values, problems } = parseSettings(picked)
  const all = [...given.problems, ...problems]
  if (all.length > 0) throw new InboxError('config_invalid', all.join('\n  '))

  const { INBOX_API_KEY_FILE: file, INBOX_API_KEY: text } = values
  const url = options.apiUrl ?? values.INBOX_API_URL
  if (url === undefined) throw missing('the REST service is not known', 'INBOX_API_URL, or give it by --api-url')
  if (options.apiKey !== undefined) return { url, key: await readSecretArgument(options.apiKey, { url }) }
  if (file !== undefined && text !== undefined) {
    throw new InboxError('config_invalid', 'INBOX_API_KEY and INBOX_API_KEY_FILE are both set, expected one of them')
  }
  const key = file === undefined ? text : await readSecretFile(resolve(cwd, file))
  if (key === undefined || key === '') {
    throw missing(
      'the key of the REST service is not known',
      'INBOX_API_KEY or INBOX_API_KEY_FILE, or give it by --api-key',
    )
  }
  return { url, key }
}

function missing(what: string, where: string): InboxError {
  return new InboxError('config_invalid', `${what}: set ${where}`)
}

/** What the service said, with the id by which it knows the request. */
function toInboxError(thrown: unknown): unknown {
  if (!(thrown instanceof ApiError)) return thrown
  const { message, requestId, isRetryable } = thrown
  const request = requestId === null ? '' : ` (request ${requestId})`
  return new InboxError(isRetryable ? 'api_unavailable' : 'api_refused', `${message}${request}`, { cause: thrown })
}

/** A list as it is printed. */
export interface ApiList<T> {
  readonly data: readonly T[]
  readonly next_cursor: string | null
  readonly total: number | null
}

const mostPerPage = 100

/** Collects `limit` items behind `cursor`, page by page, every number as the service wrote it. */
export async function collectPages<T>(
  fetchPage: (query: { readonly limit: number; readonly cursor: string | undefined }) => Promise<PageOf<T>>,
  limit: number,
  start: string | undefined,
): Promise<ApiList<T>> {
  const data: T[] = []
  const seen = new Set<string>()
  for (let cursor = start; ;) {
    const page = await fetchPage({ limit: Math.min(limit - data.length, mostPerPage), cursor })
    data.push(...(exactly(page) as readonly T[]))
    const next = page.meta.next_cursor ?? null
    if (next === null || next === '' || data.length >= limit) {
      return { data, next_cursor: next === '' ? null : next, total: page.meta.total ?? null }
    }
    if (seen.has(next))
      throw new InboxError('api_refused', 'the list leads round in a circle: its next_cursor came before')
    seen.add(next)
    cursor = next
  }
}

const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => object }

/** `data` of an answer, such that `JSON.stringify` and `cellOf` write each number as the service wrote it. */
export function exactly(answer: { readonly data: unknown; exact(path: string): string | undefined }): unknown {
  const at = (value: unknown, path: string): unknown => {
    if (typeof value === 'number') {
      const source = answer.exact(path)
      return source === undefined || source === String(value) ? value : rawJSON(source)
    }
    if (Array.isArray(value)) return value.map((item, index) => at(item, `${path}.${index}`))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, at(member, `${path}.${name}`)]))
  }
  return at(answer.data, 'data')
}

/** A value as a cell of a table: numbers as the service wrote them, what is not there as a dash. */
export function cellOf(value: unknown): string {
  if (value === undefined || value === null || value === '') return '-'
  if (typeof value === 'string') return value
  return Array.isArray(value) ? value.map(cellOf).join(', ') : JSON.stringify(value)
}
