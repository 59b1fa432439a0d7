export interface DiffLine {
  readonly side: 'both' | 'kept' | 'other'
  readonly text: string
}

/** More pairs of lines are not compared: everything between the equal ends then counts as different. */
const maxPairs = 1_000_000

/** A line diff by the longest common subsequence. */
export function diffLines(kept: string, other: string): readonly DiffLine[] {
  const [a, b] = [kept.split('\n'), other.split('\n')]
  const shorter = Math.min(a.length, b.length)
  let head = 0
  while (head < shorter && a[head] === b[head]) head++
  let tail = 0
  while (tail < shorter - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++
  return [
    ...a.slice(0, head).map((text) => ({ side: 'both', text }) as const),
    ...diffMiddle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map((text) => ({ side: 'both', text }) as const),
  ]
}

function diffMiddle(a: readonly string[], b: readonly string[]): readonly DiffLine[] {
  const isLarge = a.length * b.length > maxPairs
  // lengths[i][j]: length of the longest common subsequence of a[i..] and b[j..], in one flat array.
  const width = b.length + 1
  const lengths = new Uint32Array(isLarge ? 0 : (a.length + 1) * width)
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0
  for (let i = isLarge ? -1 : a.length - 1; i >= 0; i--) {
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
