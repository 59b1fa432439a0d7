/** Levenshtein distance: how many letters must be put in, left out or changed to make one of the other. */
export function editDistance(a: string, b: string): number {
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
 * `, did you mean …?` with the known name that is nearest to a mistyped one, unless more than half of its letters behind `shared`, which
 * all begin with, are others.
 */
export function nearest(name: string, known: readonly string[], shared = ''): string {
  const ranked = known.map((candidate) => ({ candidate, distance: editDistance(name.slice(0, 100), candidate) }))
  const [best] = ranked.toSorted((a, b) => a.distance - b.distance)
  return best && best.distance * 2 <= best.candidate.length - shared.length ? `, did you mean ${best.candidate}?` : ''
}
