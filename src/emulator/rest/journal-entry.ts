import { hidden, isSecretMember, withoutKeys } from './secrets.ts'

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

const longestExcerpt = 4_096

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
  if (text.length <= longestExcerpt) return text
  // A slice would keep the whole text in memory for as long as it lives.
  return Buffer.from(text.slice(0, longestExcerpt)).toString()
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
