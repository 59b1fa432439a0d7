/** Levenshtein distance: the number of characters to insert, delete or replace to turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < b.length; j++) {
      const substituted = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1)
      next.push(Math.min(substituted, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}

/**
 * Returns ` (did you mean …?)` with the known name nearest to a mistyped one. Returns '' if more than two characters
 * differ, or more than a third of a long name. The common prefix `shared` doesn't count as length.
 */
export function nearest(name: string, known: readonly string[], shared = ''): string {
  const ranked = known.map((candidate) => ({ candidate, distance: editDistance(name.slice(0, 100), candidate) }))
  const [best] = ranked.toSorted((a, b) => a.distance - b.distance)
  if (!best) return ''
  const length = best.candidate.length - shared.length
  return best.distance <= Math.min(length / 2, Math.max(2, length / 3)) ? ` (did you mean ${best.candidate}?)` : ''
}
