/** An entry of the journal, numbered from 1 on. */
export interface JournalEntry extends RestExchange {
  readonly seq: number
}

/** What entries are looked for by; each that is given must hold. */
export interface JournalFilter {
  readonly method?: string
  /** The whole path, or its beginning with `*` at its end. */
  readonly path?: string
  /** A status, or its class: `4xx`. */
  readonly status?: string
  /** The id of the key. */
  readonly key?: string
  /** Not before this moment of real time. */
  readonly since?: number
  /** Beyond the entry of this number. */
  readonly after?: number
}

/** The latest requests under `/v1` and their answers. */
export interface Journal {
  add(exchange: RestExchange): void
  /** Oldest first, the newest `limit` of those that match. */
  find(filter: JournalFilter, limit: number): readonly JournalEntry[]
  /** Forgets all; gives how many there were. */
  clear(): number
}

/** Keeps at most `capacity` entries: the oldest goes for each that comes beyond that. */
export function createJournal(capacity: number): Journal {
  let entries: JournalEntry[] = []
  let lastSeq = 0

  return {
    add(exchange) {
      entries.push({ seq: ++lastSeq, ...exchange })
      // In portions, so that a full journal costs no more than one that is not.
      if (entries.length >= 2 * capacity) entries = entries.slice(-capacity)
    },
    find(filter, limit) {
      return entries
        .slice(-capacity)
        .filter((entry) => matches(entry, filter))
        .slice(-limit)
    },
    clear() {
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

/** A request under `/v1` and its answer, as a journal keeps it: without secrets. */
export interface RestExchange {
  /** Also in the header X-Request-Id. */
  readonly requestId: string
  /** When the request came, in milliseconds since 1970 of real time. */
  readonly at: number
  readonly method: string
  readonly path: string
  /** As it came, without the question mark; empty if there was none. */
  readonly query: string
  readonly status: number
  /** Null without a valid key. */
  readonly keyId: string | null
  readonly accountId: string | null
  readonly latencyMs: number
  /** The beginning of the body as JSON; null if there was none, or none that could be read. */
  readonly requestBody: string | null
  readonly responseBody: string
  /** Names of the faults that the answer suffered, if there are any (2.8). */
  readonly faults?: readonly string[]
}

const maxExcerptLength = 4_096

/** The beginning of a JSON value as text, without secrets, the presented key among them (R68). */
export function excerptOf(value: unknown, presentedKey: string | null): string {
  return beginOf(withoutKeys(toText(value), presentedKey))
}

/** The same of an answer that is JSON text already; its secrets are members called `secret`. */
export function excerptOfText(json: string, presentedKey: string | null): string {
  if (json.includes('"secret"')) return excerptOf(JSON.parse(json), presentedKey)
  return beginOf(withoutKeys(json, presentedKey))
}

function beginOf(text: string): string {
  if (text.length <= maxExcerptLength) return text
  // A slice would keep the whole text in memory for as long as it lives.
  return Buffer.from(text.slice(0, maxExcerptLength)).toString()
}

function toText(value: unknown): string {
  try {
    return JSON.stringify(value, (name, member: unknown) => (isSecretMember(name, member) ? hidden : member))
  } catch {
    return '"nested too deeply to be shown"'
  }
}

/** Path and query of a request target, without keys that were put there by mistake, percent-encoded or not (R68). */
export function splitTarget(
  target: string,
  presentedKey: string | null,
): { readonly path: string; readonly query: string } {
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  const query = mark < 0 ? '' : target.slice(mark + 1)
  const show = (part: string) => (hasKey(part, presentedKey) ? hidden : part)
  return {
    path: path.split('/').map(show).join('/'),
    query: query
      .split('&')
      .map((pair) => {
        const equals = pair.indexOf('=')
        if (equals < 0) return show(pair)
        const [name, value] = [pair.slice(0, equals), pair.slice(equals + 1)]
        const isSecret = isSecretMember(decode(name), decode(value))
        return `${show(name)}=${isSecret ? hidden : show(value)}`
      })
      .join('&'),
  }
}

function hasKey(part: string, presentedKey: string | null): boolean {
  return [part, decode(part)].some((text) => withoutKeys(text, presentedKey) !== text)
}

/** What cannot be decoded stays as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return text
  }
}

const secretName = /secret|key|token|auth|passw/i
/** Documented names that sound like those of secrets, and hold addresses, symbols or numbers. */
const documented = new Set(['token', 'token_address', 'token_in', 'token_out', 'token_symbol', 'total_tokens_held'])
const address = /^(?:0x[\da-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$/
/** Values that this service draws. */
const drawn = /\b(?:sk|whsec|ctl)_[\w-]{16,}/g
/** No key is shorter; to hide what is shorter would garble everything. */
const minKeyLength = 8

/** What stands where a secret was. */
const hidden = '[hidden]'

/** Whether a value is to be hidden for the name that it has. What is documented is shown, unless it is another thing. */
export function isSecretMember(name: string, value: unknown): boolean {
  if (!secretName.test(name)) return false
  return !documented.has(name) || (name === 'token' && typeof value === 'string' && !address.test(value))
}

/** A text without the key that was presented, wherever it stands, and without any that was drawn (R68). */
function withoutKeys(text: string, presentedKey: string | null): string {
  const forms = presentedKey === null || presentedKey.length < minKeyLength ? [] : formsOf(presentedKey)
  return forms.reduce((rest, form) => rest.replaceAll(form, hidden), text).replace(drawn, hidden)
}

/** As it is, as it stands in JSON, and as it stands in JSON that is told of in JSON. */
function formsOf(key: string): readonly string[] {
  const once = escaped(key)
  return [...new Set([escaped(once), once, key])]
}

function escaped(text: string): string {
  return JSON.stringify(text).slice(1, -1)
}
