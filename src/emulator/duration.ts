const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** Form of a duration, for error messages. */
export const durationForm = 'a whole number and a unit: 90s, 15m, 24h or 7d, or 0'

/** Maximum of a history and of one advance: 366 days. */
export const maxDurationMs = 366 * unitMs.d

/** Milliseconds of a duration such as `24h`; undefined if invalid. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0
  const [, digits, unit] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  if (digits === undefined || unit === undefined) return undefined
  return Number(digits) * unitMs[unit as keyof typeof unitMs]
}

/** Formats a duration in the largest unit that divides it. */
export function formatDuration(ms: number): string {
  const [unit, length] = Object.entries(unitMs).findLast(([, size]) => ms > 0 && ms % size === 0) ?? ['s', unitMs.s]
  return `${ms / length}${unit}`
}
