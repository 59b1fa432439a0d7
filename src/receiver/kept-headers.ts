import { safeText } from '../log.ts'

/**
 * Reads names and values in turn, as Node has them in `rawHeaders`: of outside origin, any text, in any number. Gives those that
 * are kept with the event as a JSON object of at most 2,000 characters, names in lower case, in the order of arrival; null: there
 * are none to keep.
 */
export type HeaderReader = (rawHeaders: readonly string[]) => string | null

/** Whoever may look at an event need not be trusted with what gives access: neither in a value nor in an address with a query. */
const secretNames =
  /secret|token|signature|(?:^|[-_])sig(?:$|[-_])|hmac|digest|api[-_]?key|passw|credential|cookie|auth|session|jwt|cert|ur[il]$|^referer$/
/**
 * Those that differ from delivery to delivery say nothing of how events come, and each would make a new set of headers, of which
 * only so many are kept: of the body (length), of the moment (date), of the request (its id, trace and attempt), and of the way
 * that it took (addresses and ids that proxies add).
 */
const changingNames =
  /^(?:content-length|content-md5|date|age|idempotency-key|traceparent|tracestate|baggage|forwarded|cf-ray|x-vercel-id|x-azure-ref|x-cloud-trace-context|x-amzn-trace-id|x-b3-.*)$|(?:^|-)(?:id|ids|ip|for|port|time|timestamp|start|nonce|attempt|count|number|delivery)$/

const longestName = 100
const longestValue = 200
const longestHeaders = 2_000
/** What is looked at of all headers together; the usual ones have a tenth of it. */
const mostLookedAt = 4_000
const mostKnownNames = 500
const mostKnownSets = 200

/**
 * Makes the reader of a receiver. Headers are nearly always the same, so it knows again what it has read before: then it takes
 * about a microsecond. `signatureHeader`: in lower case.
 */
export function createHeaderReader(signatureHeader: string): HeaderReader {
  const names = new Map<string, string | null>()
  const sets = new Map<string, string | null>()

  /** In lower case; null if such a header is not kept. */
  function keptName(given: string): string | null {
    const known = names.get(given)
    if (known !== undefined) return known
    if (given.length > longestName) return null
    const name = given.toLowerCase()
    const isKept = name !== signatureHeader && !secretNames.test(name) && !changingNames.test(name)
    remember(names, mostKnownNames, given, isKept ? name : null)
    return isKept ? name : null
  }

  return (rawHeaders) => {
    let seen = ''
    const kept: string[] = []
    for (let index = 0; index + 1 < rawHeaders.length && seen.length < mostLookedAt; index += 2) {
      const name = keptName(rawHeaders[index] ?? '')
      if (name === null) continue
      const value = rawHeaders[index + 1] ?? ''
      const begin = value.length > longestValue ? value.slice(0, longestValue + 1) : value
      kept.push(name, begin)
      seen += `${name}\n${begin.length}\n${begin}`
    }
    const known = sets.get(seen)
    if (known !== undefined) return known
    const headers = toHeaders(kept)
    remember(sets, mostKnownSets, seen, headers)
    return headers
  }
}

function remember<T>(known: Map<string, T>, most: number, key: string, value: T): void {
  if (known.size >= most) known.clear()
  known.set(key, value)
}

/** What came several times is joined, as Node does. What does not fit any more is left out. */
function toHeaders(kept: readonly string[]): string | null {
  const values = new Map<string, string>()
  for (let index = 0; index + 1 < kept.length; index += 2) {
    const name = kept[index] ?? ''
    const before = values.get(name)
    values.set(name, before === undefined ? (kept[index + 1] ?? '') : `${before}, ${kept[index + 1]}`)
  }
  const members: string[] = []
  let length = 2
  for (const [name, value] of values) {
    const member = `${JSON.stringify(shorten(name, longestName))}:${JSON.stringify(shorten(value, longestValue))}`
    if (length + member.length + 1 > longestHeaders) continue
    members.push(member)
    length += member.length + 1
  }
  return members.length === 0 ? null : `{${members.join(',')}}`
}

/** Cut in the middle of a character, or made of halves of one, text would be no text any more. */
function shorten(text: string, longest: number): string {
  return safeText(text.toWellFormed(), longest - 1).toWellFormed()
}
