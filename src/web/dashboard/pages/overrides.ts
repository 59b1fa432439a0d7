/**
 * Members to set, one on a line as `data.amount_usd = 250000`: JSON if it is JSON, else text. Throws an Error that names the line.
 */
export function parseOverrides(text: string): Readonly<Record<string, unknown>> {
  const set: Record<string, unknown> = {}
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue
    const at = line.indexOf('=')
    if (at < 1) throw new Error(`Expected a line such as data.amount_usd = 250000, received “${line.trim()}”.`)
    set[line.slice(0, at).trim()] = parseValue(line.slice(at + 1).trim())
  }
  return set
}

function parseValue(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
