import { isIP } from 'node:net'
import { z } from 'zod'
import { adminTokenPattern } from '../base/secret-file.ts'
import { parseApiUrl } from '../base/api-url.ts'
import { parseDatabaseUrl } from '../base/database-url.ts'
import { InboxError } from '../base/errors.ts'
import { withoutBrackets } from '../base/loopback.ts'
import { parseSecrets, parseSecretsFile, type Secret } from '../signature/keys.ts'

// zod types of settings. Values are text from the environment, or JS values from the config file.

/** Whole numbers in decimal digits. Rejects "1e3", "0x10" and "". */
export function wholeNumber(minimum: number, maximum: number) {
  return z
    .union([
      z.number(),
      z
        .string()
        .regex(/^\d{1,15}$/)
        .transform(Number),
    ])
    .pipe(z.number().int().min(minimum).max(maximum))
}

const units: Readonly<Record<string, number>> = { '': 1, b: 1, kb: 1024, mb: 1024 ** 2, gb: 1024 ** 3, tb: 1024 ** 4 }

/** Bytes as `1mb`, `500kb` or a plain number; a kb is 1,024 bytes. */
export function byteSize(maximum: number, minimum = 1) {
  const text = z.string().transform((value, context) => {
    const [, digits, unit = ''] = /^(\d{1,15})\s*(b|kb|mb|gb|tb)?$/i.exec(value) ?? []
    if (digits === undefined) return fail(context, '')
    return Number(digits) * (units[unit.toLowerCase()] ?? 1)
  })
  return z.union([z.number(), text]).pipe(z.number().int().min(minimum).max(maximum))
}

/** Formats a size: `256mb`, or `1000 bytes` if no unit fits. */
export function describeBytes(bytes: number): string {
  const [unit, size] = Object.entries(units).findLast(([, factor]) => factor <= bytes && bytes % factor === 0) ?? [
    '',
    1,
  ]
  return size === 1 ? `${bytes} bytes` : `${bytes / size}${unit}`
}

/** An IP address or a host name. Removes the brackets of `[::1]`. */
export const host = z
  .string()
  .transform((value) => withoutBrackets(value).toLowerCase())
  .refine((value) => isIP(value) !== 0 || hostNamePattern.test(value))

const hostNamePattern =
  /^(?=.{1,253}$)(?!\d+(\.\d+)*$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9])?)*$/

/** An array, or text with items separated by commas. */
export function list(item: z.ZodType<string, string>) {
  const text = z.string().transform((value) =>
    value
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  )
  return z.union([z.array(z.string()), text]).pipe(z.array(item))
}

/** A name as in a Host header, with or without a port. An IPv6 address without a port may omit its brackets. */
export const hostHeader = z
  .string()
  .toLowerCase()
  .refine((value) => {
    if (isIP(value) === 6) return true
    const [, bracketed, name] = /^(?:\[([^\]]*)\]|([^:]+))(?::\d{1,5})?$/.exec(value) ?? []
    return bracketed === undefined ? host.safeParse(name).success : isIP(bracketed) === 6
  })

/** An IP address or a network such as 10.0.0.0/8, as for `net.BlockList`. */
export const ipOrNetwork = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])

/** An absolute request path, compared literally: no trailing slash, no percent encoding. */
export const urlPath = z
  .string()
  .regex(/^(\/|(\/[A-Za-z0-9._~-]+)+)$/)
  .refine((value) => value !== '/healthz' && value !== '/readyz')

/** Node keeps only the first of these headers, so a repeated one would go unnoticed. */
const nonRepeatable: ReadonlySet<string> = new Set(
  (
    'age authorization content-length content-type etag expires from host if-modified-since if-unmodified-since ' +
    'last-modified location max-forwards proxy-authorization referer retry-after server user-agent'
  ).split(' '),
)

/** A header name, in lower case as in Node. */
export const headerName = z
  .string()
  .regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/)
  .toLowerCase()

/** A header name whose repeated values Node reports. */
export const repeatableHeader = headerName.refine((name) => !nonRepeatable.has(name))

/** A value, or its JSON text. Its content is checked elsewhere. */
export const jsonValue = z.unknown().transform((value, context): unknown => {
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value) as unknown
  } catch {
    return fail(context, 'invalid JSON')
  }
})

/** Text that names a file or folder. */
export const filePath = z
  .string()
  .min(1)
  .refine((value) => !value.includes('\0'))

export const token = z.string().trim().regex(adminTokenPattern)

export type DatabaseSetting =
  | { readonly kind: 'sqlite'; readonly file: string }
  /** May hold a password: show only `describeDatabase(url)`. */
  | { readonly kind: 'postgres'; readonly url: string }
  | { readonly kind: 'memory' }

/** `sqlite:<path>`, `postgres://…` or `memory:`. Errors never show the value, which may hold a password. */
export const databaseUrl = z.string().transform((value, context): DatabaseSetting => {
  if (value === 'memory:') return { kind: 'memory' }
  const [, scheme = '', rest = ''] = /^([a-z][a-z0-9+.-]*):([^]*)$/i.exec(value) ?? []
  if (/^postgres(ql)?$/i.test(scheme)) return postgresSetting(value, context)
  if (scheme.toLowerCase() !== 'sqlite')
    return fail(context, `unknown kind of database URL${rest.startsWith('//') ? ` ${scheme}:` : ''}`)
  if (/^\/\/[^/]/.test(rest))
    return fail(context, 'sqlite:// takes an absolute path; write sqlite:./path for a relative one')
  if (rest === '' || rest === ':memory:' || rest.includes('\0'))
    return fail(context, 'sqlite: requires the path of a file')
  return { kind: 'sqlite', file: rest.replace(/^\/\/\//, '/') }
})

function postgresSetting(value: string, context: z.RefinementCtx): DatabaseSetting {
  try {
    return { kind: 'postgres', url: parseDatabaseUrl(value).href }
  } catch (error) {
    if (error instanceof InboxError) return fail(context, error.message)
    throw error
  }
}

/** An http or https URL. Errors never show the value, which may hold a token. */
export const httpUrl = z.string().transform((value, context) => {
  const url = URL.parse(value)
  if (url === null) return fail(context, 'not an absolute URL')
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return fail(context, 'not an http or https URL')
  if (url.username !== '' || url.password !== '') return fail(context, 'contains a user name or password')
  return url.href
})

/** Base URL of console links, without a trailing slash. */
export const consoleUrl = httpUrl.transform((value, context) => {
  if (/[?#]/.test(value)) return fail(context, 'contains a query or fragment')
  return value.replace(/\/+$/, '')
})

/** INBOX_API_URL: the base URL of the service, ending in `/v1` (R6). */
export const apiUrl = z.string().transform((value, context) => {
  try {
    return parseApiUrl(value)
  } catch (error) {
    if (error instanceof InboxError) return fail(context, String(error.details['problem']))
    throw error
  }
})

export const apiKey = z
  .string()
  .trim()
  .regex(/^[\x21-\x7e]{1,1000}$/)

/** INBOX_SECRETS: text, an array of items, or an object `{label: secret}`. */
export const secrets = z
  .union([z.string(), z.array(z.string()), z.record(z.string(), z.string())])
  .transform((value, context): readonly Secret[] => {
    try {
      if (typeof value === 'string' || Array.isArray(value)) return parseSecrets(value)
      return parseSecretsFile(JSON.stringify(value))
    } catch (error) {
      if (error instanceof InboxError) return fail(context, error.message)
      throw error
    }
  })

function fail(context: z.RefinementCtx, message: string): never {
  context.addIssue({ code: 'custom', message })
  return z.NEVER
}
