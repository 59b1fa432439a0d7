import { safeText } from '../base/log.ts'

/**
 * Returns the stored headers among Node's `rawHeaders` as a JSON object of at most 2,000 characters, with lower-case
 * names in order of arrival; null if there are none.
 */
export type HeaderReader = (rawHeaders: readonly string[]) => string | null

export interface StoredHeaders {
  /** Names in lower case. Other headers are not stored: they may contain secrets, and viewers see stored headers. */
  readonly storedHeaders: readonly string[]
  /** Lower case; never stored. */
  readonly signatureHeader: string
}

/** Removes the signature headers of all sources: a delivery may be sent to the wrong path, and some hold a secret. */
export function withoutSecrets(
  storedHeaders: readonly string[],
  sources: readonly { readonly verify: readonly { readonly header: string }[] }[],
): readonly string[] {
  const secretHeaders = sources.flatMap(({ verify }) => verify.map(({ header }) => header))
  return storedHeaders.filter((header) => !secretHeaders.includes(header))
}

/** Characters of one value, and of the JSON of all stored headers. */
const maxValueLength = 200
const maxLength = 2_000
/** Maximum cached results. A full cache is cleared. */
const maxCached = 200

/** Creates a reader that caches its results: headers are nearly always the same. */
export function createHeaderReader({ storedHeaders, signatureHeader }: StoredHeaders): HeaderReader {
  const names = new Set(storedHeaders)
  names.delete(signatureHeader)
  const lengths = new Set([...names].map(({ length }) => length))
  const cache = new Map<string, string | null>()

  return (rawHeaders) => {
    const pairs: string[] = []
    let cacheKey = ''
    for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
      const sentName = rawHeaders[index] ?? ''
      // Most headers are ruled out by their length, without a copy in lower case.
      const name = lengths.has(sentName.length) ? sentName.toLowerCase() : ''
      if (!names.has(name)) continue
      const value = rawHeaders[index + 1]?.slice(0, maxValueLength + 1) ?? ''
      pairs.push(name, value)
      cacheKey += `${name}\n${value.length}\n${value}`
    }
    const cached = cache.get(cacheKey)
    if (cached !== undefined) return cached
    if (cache.size >= maxCached) cache.clear()
    const headers = toHeaders(pairs)
    cache.set(cacheKey, headers)
    return headers
  }
}

/** Repeated headers are joined, as Node does. Headers beyond the length limit are omitted. */
function toHeaders(pairs: readonly string[]): string | null {
  const values = new Map<string, string>()
  for (let index = 0; index + 1 < pairs.length; index += 2) {
    const name = pairs[index] ?? ''
    const before = values.get(name)
    values.set(name, before === undefined ? (pairs[index + 1] ?? '') : `${before}, ${pairs[index + 1]}`)
  }
  const members: string[] = []
  let length = 2
  for (const [name, value] of values) {
    const member = `${JSON.stringify(name)}:${JSON.stringify(shorten(value))}`
    if (length + member.length + 1 > maxLength) continue
    members.push(member)
    length += member.length + 1
  }
  return members.length === 0 ? null : `{${members.join(',')}}`
}

/** Limits the length of a value. The result is well-formed, even if the limit splits a surrogate pair. */
function shorten(value: string): string {
  return safeText(value.toWellFormed(), maxValueLength - 1).toWellFormed()
}
