/** What the form has; empty texts: not given. */
export interface ReplayFields {
  readonly type: string
  readonly network: string
  readonly address: string
  readonly status: string
  readonly from: string
  readonly to: string
  readonly handler: string
  readonly perSecond: string
  readonly isNewKeys: boolean
}

const filters = ['type', 'network', 'address', 'status', 'handler'] as const

/** What is sent for the form. Throws what a person can mend: an empty filter, a time or a number that is none. */
export function toReplayRequest(fields: ReplayFields): Readonly<Record<string, unknown>> {
  const filter: Record<string, unknown> = {}
  for (const name of filters) {
    const value = fields[name].trim()
    if (value !== '') filter[name] = value
  }
  for (const name of ['from', 'to'] as const) {
    if (fields[name].trim() !== '') filter[name] = toMoment(fields[name])
  }
  if (Object.keys(filter).length === 0)
    throw new Error(
      'Nothing says which events: fill in at least one of type, network, address, status, handler, from, to. ' +
        'To run all that is kept again, give a from before the oldest.',
    )
  const { perSecond, isNewKeys } = fields
  return {
    ...filter,
    ...(perSecond.trim() !== '' && { per_second: toPace(perSecond) }),
    ...(isNewKeys && { new_keys: true }),
  }
}

/** A moment as people write it, taken as UTC where it says nothing else. */
function toMoment(text: string): string {
  const given = text.trim().replace(' ', 'T')
  const date = new Date(/Z$|[+-]\d\d:?\d\d$/.test(given) || !given.includes('T') ? given : `${given}Z`)
  if (!/^\d{4}-\d\d/.test(given) || Number.isNaN(date.getTime()))
    throw new Error(`Expected a moment such as 2026-01-31 12:00, received “${text}”.`)
  return date.toISOString()
}

function toPace(text: string): number {
  const value = Number(text)
  if (!(value > 0) || value > 100_000)
    throw new Error(`Runs per second: expected a number above 0, at most 100,000, received “${text}”.`)
  return value
}
