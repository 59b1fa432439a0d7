import { isIPv4 } from 'node:net'
import type { SinkDefinition, SinkItem } from 'onchain-inbox'
import { z } from 'zod'
import { createHash } from 'node:crypto'

/** A kind of bundled sink: the default export of `handlers/sinks/<kind>.ts`. */
export interface SinkKind<S extends z.ZodType = z.ZodType> {
  /** The options of its own, beside those that all sinks have. */
  readonly options: S
  /** Where it leads, for people, without secrets. `shown` are its options with names in place of what they refer to. */
  target(shown: Readonly<Record<string, unknown>>): string
  /** What options are, and an example of each, for messages about wrong ones. */
  readonly examples: Readonly<Record<string, Example>>
  /** The file that it writes to, if it does: relative to the folder of the configuration, or absolute. */
  file?(options: z.output<S>): string | undefined
  /** The sink without its name, which the loader gives it. */
  create(setup: SinkSetup<z.output<S>>, tools: SinkTools): Readonly<SinkDefinition>
  /** Checks what it needs on this machine without connecting. Throws an Error that names what is missing. */
  check?(setup: SinkSetup<z.output<S>>, tools: Pick<SinkTools, 'baseDir'>): void | Promise<void>
}

export type Example = readonly [what: string, example: string]

/** `options` are complete: checked by the schema of the kind. */
export interface SinkSetup<O> {
  readonly name: string
  readonly options: O
}

/** What the program lends to bundled sinks. */
export interface SinkTools {
  /** The signature of these bytes by the webhook secret of that label, or by the first one. Throws if there is none. */
  sign(raw: Uint8Array, secretLabel: string): string
  /** The header that the signature goes into. */
  readonly signatureHeader: string
  /** Absolute path of the folder that relative paths start at. */
  readonly baseDir: string
}

/** For what may be down for a day: a file, a database, an app. */
export const patience = {
  retry: { attempts: 200, baseMs: 1_000, capMs: 600_000 },
  breaker: { failures: 5, cooldownMs: 5_000, capMs: 300_000 },
} as const

/** A value of a sink's options for people: of a URL only the host, since the rest may be secret, and lists with commas. */
export function place(value: unknown, { withPath = false } = {}): string {
  const describe = (one: unknown) => {
    const url = URL.parse(String(one))
    return url === null || url.host === '' ? String(one) : `${url.protocol}//${url.host}${withPath ? url.pathname : ''}`
  }
  return [value ?? []].flat().map(describe).join(',')
}

/** True if only this machine can be behind the host name of a URL. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
}

/** A URL that secrets are sent to, or that is a secret itself: encrypted, except to this machine. */
export const secretUrl = z.string().refine(
  (text) => {
    const url = URL.parse(text)
    if (url === null || url.username !== '' || url.password !== '') return false
    return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))
  },
  { error: 'expected an https URL without user name and password (http only for this machine)' },
)

/** The same, for a base of paths. */
export const secretBaseUrl = secretUrl
  .refine((text) => !/[?#]/.test(text), { error: 'expected a base URL without query or fragment' })
  .transform((text) => text.replace(/\/+$/, ''))

/** Text that names a file or folder. Relative paths start at the folder of the configuration. */
export const filePath = z
  .string()
  .min(1)
  .refine((value) => !value.includes('\0'))

/** A whole number, also as text: it may come from an environment variable. */
export function wholeNumber(minimum: number, maximum: number) {
  const digits = z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number)
  return z.union([z.number(), digits]).pipe(z.number().int().min(minimum).max(maximum))
}

/** What a path leads to; undefined where that isn't there. Own members only. */
export function memberAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce(
    (node, key) =>
      typeof node === 'object' && node !== null && Object.hasOwn(node, key) ? Reflect.get(node, key) : undefined,
    value,
  )
}

/** Servers take 8 to 16 KiB of headers in all. */
const longestHeader = 1_000

/** What an item brings: the exact bytes of the event, or as JSON what a handler enqueued. */
export function bodyOf(item: SinkItem): Uint8Array {
  return item.payload === undefined ? item.event.raw : new TextEncoder().encode(JSON.stringify(item.payload))
}

/**
 * Text as a header can hold it: visible ASCII as it is, all else percent-encoded. An id can be any text; what would be longer than
 * a header should be is named by its digest, `sha256-<hex>`.
 */
export function headerText(text: string): string {
  return shortened(/^[!-$&-~]+$/.test(text) ? text : encodeURIComponent(text))
}

/** The same for attributes of CloudEvents, which encode fewer characters: all but visible ASCII, `"` and `%`. */
export function attributeText(text: string): string {
  return shortened(text.replace(/[^!#$&-~]+/g, encodeURIComponent))
}

function shortened(text: string): string {
  return text.length <= longestHeader ? text : `sha256-${createHash('sha256').update(text).digest('hex')}`
}
