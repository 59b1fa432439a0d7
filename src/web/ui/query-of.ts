/** A query string of what is given; empty texts and what is undefined are left out. */
export function queryOf(parameters: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== '') query.set(name, String(value))
  }
  return query.size === 0 ? '' : `?${query.toString()}`
}
