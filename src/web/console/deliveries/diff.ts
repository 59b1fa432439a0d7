export interface DiffLine {
  readonly side: 'both' | 'kept' | 'other'
  readonly text: string
}

/** Lines of each text that are compared. */
export const maxLines = 1_000

/** A line diff by the longest common subsequence. */
export function diffLines(kept: string, other: string): readonly DiffLine[] {
  const [a, b] = [kept.split('\n', maxLines), other.split('\n', maxLines)]
  const width = b.length + 1
  // lengths[i * width + j]: length of the longest common subsequence of a[i..] and b[j..].
  const lengths = new Uint16Array((a.length + 1) * width)
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const lines: DiffLine[] = []
  const push = (side: DiffLine['side'], text = '') => lines.push({ side, text })
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (i < a.length && a[i] === b[j]) {
      push('both', a[i++])
      j++
    } else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) push('kept', a[i++])
    else push('other', b[j++])
  }
  return lines
}
