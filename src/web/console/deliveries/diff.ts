export interface DiffLine {
  readonly side: 'both' | 'kept' | 'other'
  readonly text: string
}

/** More pairs of lines are not compared: everything between the equal ends then counts as different. */
const maxPairs = 1_000_000

/** A line diff by the longest common subsequence. Its size is bounded by `maxPairs`. */
export function diffLines(kept: string, other: string): readonly DiffLine[] {
  const a = kept.split('\n')
  const b = other.split('\n')
  const shorter = Math.min(a.length, b.length)
  let head = 0
  while (head < shorter && a[head] === b[head]) head++
  let tail = 0
  while (tail < shorter - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++
  const both = (text: string): DiffLine => ({ side: 'both', text })
  return [
    ...a.slice(0, head).map(both),
    ...diffMiddle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map(both),
  ]
}

function diffMiddle(a: readonly string[], b: readonly string[]): readonly DiffLine[] {
  const keptOf = (text: string): DiffLine => ({ side: 'kept', text })
  const otherOf = (text: string): DiffLine => ({ side: 'other', text })
  if (a.length * b.length > maxPairs) return [...a.map(keptOf), ...b.map(otherOf)]
  // lengths[i][j]: length of the longest common subsequence of a[i..] and b[j..], in one flat array.
  const width = b.length + 1
  const lengths = new Uint32Array((a.length + 1) * width)
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const lines: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    const [lineA, lineB] = [a[i], b[j]]
    if (lineA !== undefined && lineA === lineB) {
      lines.push({ side: 'both', text: lineA })
      i++
      j++
    } else if (lineB === undefined || (lineA !== undefined && at(i + 1, j) >= at(i, j + 1))) {
      lines.push(keptOf(lineA ?? ''))
      i++
    } else {
      lines.push(otherOf(lineB))
      j++
    }
  }
  return lines
}
