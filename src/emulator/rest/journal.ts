/** A journal entry, numbered from 1. */
export interface JournalEntry extends RestExchange {
  readonly seq: number
}

/** Journal filter; all given members must match. */
export interface JournalFilter {
  readonly method?: string
  /** Exact path, or a prefix with a trailing `*`. */
  readonly path?: string
  /** A status, or its class: `4xx`. */
  readonly status?: string
  /** The id of the key. */
  readonly key?: string
  /** At or after this moment of real time. */
  readonly since?: number
  /** After the entry with this number. */
  readonly after?: number
}

export type Journal = ReturnType<typeof createJournal>

/** The latest `capacity` requests under `/v1`, with their responses. */
export function createJournal(capacity: number) {
  let entries: JournalEntry[] = []
  let lastSeq = 0

  return {
    add(exchange: RestExchange): void {
      entries.push({ seq: ++lastSeq, ...exchange })
      // Drops old entries in batches: adding to a full journal stays cheap.
      if (entries.length >= 2 * capacity) entries = entries.slice(-capacity)
    },
    /** The newest `limit` matches, oldest first. */
    find(filter: JournalFilter, limit: number): readonly JournalEntry[] {
      return entries
        .slice(-capacity)
        .filter((entry) => matches(entry, filter))
        .slice(-limit)
    },
    /** Deletes all entries; returns their number. */
    clear(): number {
      const count = Math.min(entries.length, capacity)
      entries = []
      return count
    },
  }
}

function matches(entry: JournalEntry, { method, path, status, key, since, after }: JournalFilter): boolean {
  return (
    (method === undefined || entry.method === method.toUpperCase()) &&
    (path === undefined || matchesPath(entry.path, path)) &&
    (status === undefined || matchesStatus(String(entry.status), status)) &&
    (key === undefined || entry.keyId === key) &&
    (since === undefined || entry.at >= since) &&
    (after === undefined || entry.seq > after)
  )
}

function matchesPath(path: string, wanted: string): boolean {
  return wanted.endsWith('*') ? path.startsWith(wanted.slice(0, -1)) : path === wanted
}

function matchesStatus(status: string, wanted: string): boolean {
  return wanted.endsWith('xx') ? status[0] === wanted[0] : status === wanted
}

/** A request under `/v1` and its response, without secrets. */
export interface RestExchange {
  /** Value of the header X-Request-Id. */
  readonly requestId: string
  /** Arrival in milliseconds since 1970 of real time. */
  readonly at: number
  readonly method: string
  readonly path: string
  /** Raw query without the question mark; empty if none. */
  readonly query: string
  readonly status: number
  /** Null without a valid key. */
  readonly keyId: string | null
  readonly accountId: string | null
  readonly latencyMs: number
  /** Beginning of the body as JSON; null if missing or unreadable. */
  readonly requestBody: string | null
  readonly responseBody: string
  /** Names of injected faults, if any (2.8). */
  readonly faults?: readonly string[]
}

const maxExcerptLength = 4_096

/** Beginning of a JSON value as text, without secrets and the presented key (R68). */
export function excerptOf(value: unknown, presentedKey: string | null): string {
  return beginOf(withoutKeys(toText(value), presentedKey))
}

/** The same for a response that is JSON text. Its secrets are members named `secret`. */
export function excerptOfText(json: string, presentedKey: string | null): string {
  if (json.includes('"secret"')) return excerptOf(JSON.parse(json), presentedKey)
  return beginOf(withoutKeys(json, presentedKey))
}

function beginOf(text: string): string {
  if (text.length <= maxExcerptLength) return text
  // A slice would keep the whole text in memory.
  return Buffer.from(text.slice(0, maxExcerptLength)).toString()
}

function toText(value: unknown): string {
  try {
    return JSON.stringify(value, (name, member: unknown) => (isSecretMember(name, member) ? hidden : member))
  } catch {
    return '"nested too deeply to be shown"'
  }
}

/** Path and query of a request target. Keys in them, even percent-encoded, are hidden (R68). */
export function splitTarget(
  target: string,
  presentedKey: string | null,
): { readonly path: string; readonly query: string } {
  const show = (part: string) => {
    return [part, decode(part)].some((text) => withoutKeys(text, presentedKey) !== text) ? hidden : part
  }
  const [path = '', ...rest] = target.split('?')
  return {
    path: path.split('/').map(show).join('/'),
    query: rest.join('?').replaceAll(/([^&=]+)(?:=([^&]*))?/g, (_pair, name: string, value?: string) => {
      if (value === undefined) return show(name)
      return `${show(name)}=${isSecretMember(decode(name), decode(value)) ? hidden : show(value)}`
    }),
  }
}

/** Malformed percent-encoding stays unchanged. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

const secretName = /secret|key|token|auth|passw/i
/** Documented names that look like secrets but hold addresses, symbols or numbers. */
const documented = new Set(['token', 'token_address', 'token_in', 'token_out', 'token_symbol', 'total_tokens_held'])
const address = /^(?:0x[\da-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$/
/** Secrets that this service generates. */
const drawn = /\b(?:sk|whsec|ctl)_[\w-]{16,}/g
/** Shorter keys don't exist; hiding shorter text would garble everything. */
const minKeyLength = 8

/** Placeholder for a secret. */
const hidden = '[hidden]'

/** True if a member's name marks it as secret. Documented names are not, unless `token` holds no address. */
export function isSecretMember(name: string, value: unknown): boolean {
  if (!secretName.test(name)) return false
  return !documented.has(name) || (name === 'token' && typeof value === 'string' && !address.test(value))
}

/** Hides the presented key and all generated secrets in a text (R68). */
function withoutKeys(text: string, presentedKey: string | null): string {
  const forms = presentedKey === null || presentedKey.length < minKeyLength ? [] : formsOf(presentedKey)
  return forms.reduce((rest, form) => rest.replaceAll(form, hidden), text).replace(drawn, hidden)
}

/** The key as is, escaped in JSON, and escaped twice for JSON within JSON. */
function formsOf(key: string): readonly string[] {
  const once = escaped(key)
  return [...new Set([escaped(once), once, key])]
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}
