import { editDistance } from '../base/edit-distance.ts'

/** `, did you mean …?` with the known name that is nearest to a mistyped one, unless more than half of its letters are others. */
export function nearest(name: string, known: readonly string[]): string {
  const ranked = known.map((candidate) => ({ candidate, distance: editDistance(name.slice(0, 100), candidate) }))
  const [best] = ranked.toSorted((a, b) => a.distance - b.distance)
  return best && best.distance * 2 <= best.candidate.length ? `, did you mean ${best.candidate}?` : ''
}
