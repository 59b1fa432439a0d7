/** The default of INBOX_STORED_HEADERS when the migrations that use this were written. Don't change it. */
const storedHeaders = ['content-type', 'host', 'user-agent', 'via']

/** Removes all but the default headers from a stored set (JSON). An empty set becomes `{}`: its row stays, or another set could get its id. */
export function reduceHeaders(headers: string): string {
  try {
    const entries = Object.entries(JSON.parse(headers) as Record<string, string>)
    return JSON.stringify(Object.fromEntries(entries.filter(([name]) => storedHeaders.includes(name))))
  } catch {
    return '{}'
  }
}
