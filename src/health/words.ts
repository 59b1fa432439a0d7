const units: readonly (readonly [ms: number, name: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
]

/** Formats a duration in its two largest units: `10 h 36 min`, `5 s`. */
export function lengthText(ms: number): string {
  const first = units.findIndex(([unitMs]) => ms >= unitMs)
  if (first === -1) return '0 s'
  let remainingMs = Math.floor(ms)
  const parts = units.slice(first, first + 2).flatMap(([unitMs, name]) => {
    const count = Math.floor(remainingMs / unitMs)
    remainingMs -= count * unitMs
    return count === 0 ? [] : [`${count} ${name}`]
  })
  return parts.join(' ')
}

/** Formats a time: `2026-01-31 12:00:00 UTC`. */
export function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

/** `1 event`, `2 events`. */
export function countText(count: number, singular: string, plural = `${singular}s`): string {
  return `${count} ${count === 1 ? singular : plural}`
}

/** `1.5 %` */
export function percentText(share: number): string {
  return `${Math.round(share * 1_000) / 10} %`
}

/** `a, b and c` */
export function listText(parts: readonly string[]): string {
  return new Intl.ListFormat('en-GB').format(parts)
}
