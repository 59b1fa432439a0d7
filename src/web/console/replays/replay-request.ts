/** The fields of the form. An empty text is not sent. */
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

const texts = ['type', 'network', 'address', 'status', 'handler'] as const
const maxPerSecond = 100_000

/** The request of the admin API. Throws for an empty filter, an invalid time or an invalid rate. */
export function toReplayRequest(fields: ReplayFields): object {
  const filter: Record<string, string> = {}
  for (const name of texts) if (fields[name].trim() !== '') filter[name] = fields[name].trim()
  for (const name of ['from', 'to'] as const) if (fields[name].trim() !== '') filter[name] = toMoment(fields[name])
  if (Object.keys(filter).length === 0)
    throw new Error('Fill in at least one filter. To replay everything, enter an early start.')
  const { perSecond, isNewKeys } = fields
  return {
    ...filter,
    ...(perSecond.trim() !== '' && { per_second: toRate(perSecond) }),
    ...(isNewKeys && { new_keys: true }),
  }
}

/** Without an offset, a time is UTC. */
function toMoment(text: string): string {
  const given = text.trim().replace(' ', 'T')
  const date = new Date(/Z$|[+-]\d\d:?\d\d$/.test(given) || !given.includes('T') ? given : `${given}Z`)
  if (!/^\d{4}-\d\d/.test(given) || Number.isNaN(date.getTime()))
    throw new Error(`The time must look like 2026-01-31 12:00 (got “${text}”).`)
  return date.toISOString()
}

function toRate(text: string): number {
  const rate = Number(text)
  if (!(rate > 0) || rate > maxPerSecond)
    throw new Error(`Runs per second must be above 0 and at most ${maxPerSecond} (got “${text}”).`)
  return rate
}
