import { createHash } from 'node:crypto'
import { isIPv4 } from 'node:net'
import { TerminalError, type SinkContext, type SinkDefinition, type SinkItem } from 'onchain-inbox'
import { z } from 'zod'

/** A kind of bundled sink: the default export of `handlers/sinks/<kind>.ts`. */
export interface SinkKind<S extends z.ZodType = z.ZodType> {
  /** Options of this kind, in addition to the common ones. */
  readonly options: S
  /** An entry of `sinks`, for error messages. */
  readonly example: string
  /** Destination for people, without secrets. `shown`: the options, with references to secrets instead of their values. */
  target(shown: Readonly<Record<string, unknown>>): string
  /** The file that it writes: absolute, or relative to the folder of the configuration. */
  file?(options: z.output<S>): string | undefined
  /** Returns the sink without its name. */
  create(setup: SinkSetup<z.output<S>>, tools: SinkTools): Readonly<SinkDefinition>
  /** Checks packages and files of this machine, without connecting. Throws an Error that names the missing one. */
  check?(setup: SinkSetup<z.output<S>>, tools: Pick<SinkTools, 'baseDir'>): void | Promise<void>
}

export interface SinkSetup<O> {
  readonly name: string
  /** Parsed by the schema of the kind. */
  readonly options: O
}

/** Functions and settings that bundled sinks get. */
export interface SinkTools {
  /** Signs with the webhook secret of that label, or else the first. Throws if there is none. */
  sign(raw: Uint8Array, secretLabel: string): string
  /** Name of the header for the signature. */
  readonly signatureHeader: string
  /** Absolute base of relative paths. */
  readonly baseDir: string
}

/** Retry options of sinks that people read: a day-old message is of little use. */
export const shortRetry = { retry: { attempts: 60, baseMs: 1_000, capMs: 600_000 }, breaker: {} } as const

/** Retry options of sinks whose destination may be down for a day: a file, a database, an app. */
export const longRetry = { retry: { attempts: 200, baseMs: 1_000, capMs: 600_000 }, breaker: {} } as const

/** Shows an option to people: only the host of a URL, because the rest may be secret; commas between items. */
export function shownOption(value: unknown, { withPath = false } = {}): string {
  const describe = (item: unknown) => {
    const url = URL.parse(String(item))
    return url === null || url.host === ''
      ? String(item)
      : `${url.protocol}//${url.host}${withPath ? url.pathname : ''}`
  }
  return [value ?? []].flat().map(describe).join(',')
}

/** True if the host name of a URL is this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
}

/** True for the URL of a server: with a host and decodable user and password, without query and fragment. */
export function isServerUrl(text: string, protocols: readonly string[], path: RegExp): boolean {
  const url = URL.parse(text)
  if (url === null || !protocols.includes(url.protocol) || url.hostname === '') return false
  if (!path.test(url.pathname) || url.search !== '' || url.hash !== '') return false
  try {
    decodeURIComponent(`${url.username}:${url.password}`)
    return true
  } catch {
    return false
  }
}

/** A URL that is secret or receives secrets: https, except to this machine. */
export const secretUrl = z.string().refine(
  (text) => {
    const url = URL.parse(text)
    if (url === null || url.username !== '' || url.password !== '') return false
    return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))
  },
  { error: 'expected an https URL without user name and password (http only for this machine)' },
)

/** Like `secretUrl`, as a base of paths. */
export const secretBaseUrl = secretUrl
  .refine((text) => !/[?#]/.test(text), { error: 'expected a base URL without query or fragment' })
  .transform((text) => text.replace(/\/+$/, ''))

/** Path of a file or folder, relative to the folder of the configuration. */
export const filePath = z
  .string()
  .min(1)
  .refine((value) => !value.includes('\0'))

/** A list of up to `maximum` texts, or one text. */
export function oneOrMore(text: z.ZodString, maximum = 100) {
  return z.preprocess((value) => (typeof value === 'string' ? [value] : value), z.array(text).min(1).max(maximum))
}

/** The value at a path; undefined if there is none. Own members only. */
export function memberAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce(
    (node, key) =>
      typeof node === 'object' && node !== null && Object.hasOwn(node, key) ? Reflect.get(node, key) : undefined,
    value,
  )
}

/**
 * Throws a TerminalError with the rule of payloads if all items of a batch are invalid. If only some are, logs them; the sink
 * sends a notice for each.
 */
export function requireValid(
  items: readonly SinkItem[],
  invalid: readonly SinkItem[],
  rule: string,
  log: SinkContext['log'],
): void {
  if (invalid.length === 0) return
  if (invalid.length === items.length) throw new TerminalError(rule)
  log.error({ items: invalid.map(({ idempotencyKey }) => idempotencyKey) }, 'enqueued payload invalid, notice sent')
}

/** Servers take 8 to 16 KiB of headers in all. */
const maxHeaderLength = 1_000

/** Body of an item: the exact bytes of the event, or the enqueued payload as JSON. */
export function bodyOf(item: SinkItem): Uint8Array {
  return item.payload === undefined ? item.event.raw : new TextEncoder().encode(JSON.stringify(item.payload))
}

/** Text for a header: percent-encoded unless it is visible ASCII. Long text is replaced by `sha256-<hex>`. */
export function headerText(text: string): string {
  const encoded = /^[!-$&-~]+$/.test(text) ? text : encodeURIComponent(text)
  return encoded.length <= maxHeaderLength ? encoded : `sha256-${createHash('sha256').update(encoded).digest('hex')}`
}
