/** Filter of the list of events, as in the address of the page. Absent names don't filter. */
export type EventFilter = Readonly<Partial<Record<FilterName, string>>>

/**
 * `from` and `to` are ISO 8601, or a duration back from now such as `15m`, `1h` or `2d`. `group` is an error group of dead letters, `q`
 * words of the body.
 */
export const filterNames = [
  'source',
  'type',
  'network',
  'status',
  'handler',
  'address',
  'from',
  'to',
  'group',
  'q',
] as const
type FilterName = (typeof filterNames)[number]

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** `type:wallet.large_trade from:1h two words`: names with a value filter, other words are searched in the body. */
export function parseFilter(text: string): EventFilter {
  const filter: Partial<Record<FilterName, string>> = {}
  const words: string[] = []
  for (const [word] of text.matchAll(/[a-z]+:"(?:[^"\\]|\\.)*"|\S+/gsu)) {
    const [name = '', ...rest] = word.split(':')
    const value = unquoted(rest.join(':'))
    if (isNamed(name) && value !== '') filter[name] = value
    else if (/^\d{1,5}[mhdw]$/.test(word)) filter.from = word
    else words.push(word)
  }
  return words.length === 0 ? filter : { ...filter, q: words.join(' ') }
}

/** The text of which `parseFilter` makes this filter. */
export function formatFilter(filter: EventFilter): string {
  const named = filterNames.flatMap((name) => {
    const value = filter[name]
    if (name === 'q' || value === undefined) return []
    return [`${name}:${quoted(value)}`]
  })
  return [...named, ...(filter.q === undefined ? [] : [filter.q])].join(' ')
}

/** Quotes values with spaces or quotes, such as error groups. */
function quoted(value: string): string {
  return /[\s"]/u.test(value) ? `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"` : value
}

function unquoted(text: string): string {
  return /^".*"$/s.test(text) ? text.slice(1, -1).replaceAll(/\\(.)/gs, '$1') : text
}

/** Parameters of the API. `now`: milliseconds since 1970. */
export function toQuery(filter: EventFilter, now: number): EventFilter {
  const at = (value: string | undefined) => (value === undefined ? undefined : momentOf(value, now))
  const [from, to] = [at(filter.from), at(filter.to)]
  return { ...filter, ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
}

/** The time that a duration goes back to. A time without an offset is UTC; other texts stay as they are. */
function momentOf(value: string, now: number): string {
  const [, count, unit = ''] = /^(\d{1,5})([mhdw])$/.exec(value) ?? []
  if (count !== undefined) return new Date(now - Number(count) * (unitMs[unit] ?? 0)).toISOString()
  return /^\d{4}-\d\d-\d\dT[\d:]{5,8}$/.test(value) ? `${value}Z` : value
}

function isNamed(name: string): name is FilterName {
  return name !== 'q' && (filterNames as readonly string[]).includes(name)
}
