/** The default of INBOX_STORED_HEADERS when the migrations that use this were written. */
const storedHeaders = ['content-type', 'host', 'user-agent', 'via']

/**
 * A set of headers that an earlier version stored, as the reader of the receiver would store it now. Empty sets stay as `{}`: a
 * row that was removed would leave its id to another set.
 */
export function reduceHeaders(headers: string): string {
  try {
    const entries = Object.entries(JSON.parse(headers) as Record<string, string>)
    return JSON.stringify(Object.fromEntries(entries.filter(([name]) => storedHeaders.includes(name))))
  } catch {
    return '{}'
  }
}
