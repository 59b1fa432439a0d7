/** A line of two texts beside each other; null where one of them has none. */
export interface DiffRow {
  readonly kind: 'same' | 'changed' | 'left' | 'right'
  readonly left: string | null
  readonly right: string | null
}

export interface Diff {
  readonly rows: readonly DiffRow[]
  /** False: there was too much that differs to find out what belongs together. */
  readonly isExact: boolean
}

/** As many pairs of lines are compared at most: a table of a million small numbers. */
const mostPairs = 1_000_000

/**
 * Two texts line by line: equal lines beside each other, and what stands between two of them as changed, or on one side alone.
 * Takes at most time and space for a million pairs of lines; beyond that what is between the equal ends counts as changed. Pure.
 */
export function diffLines(left: string, right: string): Diff {
  const a = left.split('\n')
  const b = right.split('\n')
  const least = Math.min(a.length, b.length)
  let head = 0
  while (head < least && a[head] === b[head]) head++
  let tail = 0
  while (tail < least - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++
  const middleA = a.slice(head, a.length - tail)
  const middleB = b.slice(head, b.length - tail)
  const isExact = middleA.length * middleB.length <= mostPairs
  const rows = [
    ...a.slice(0, head).map(same),
    ...(isExact ? align(middleA, middleB) : pair(middleA, middleB)),
    ...a.slice(a.length - tail).map(same),
  ]
  return { rows, isExact }
}

function same(line: string): DiffRow {
  return { kind: 'same', left: line, right: line }
}

/** By the longest common subsequence; lines without a partner that stand between the same equal ones are paired. */
function align(a: readonly string[], b: readonly string[]): readonly DiffRow[] {
  const width = b.length + 1
  const lengths = new Uint32Array((a.length + 1) * width)
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
    }
  }
  const rows: DiffRow[] = []
  let gone: string[] = []
  let come: string[] = []
  let i = 0
  let j = 0
  while (i < a.length || j < b.length) {
    const [lineA, lineB] = [a[i], b[j]]
    if (lineA !== undefined && lineA === lineB) {
      rows.push(...pair(gone, come), same(lineA))
      gone = []
      come = []
      i++
      j++
    } else if (lineB === undefined || (lineA !== undefined && at(i + 1, j) >= at(i, j + 1))) {
      gone.push(lineA ?? '')
      i++
    } else {
      come.push(lineB)
      j++
    }
  }
  return [...rows, ...pair(gone, come)]
}

function pair(gone: readonly string[], come: readonly string[]): readonly DiffRow[] {
  return Array.from({ length: Math.max(gone.length, come.length) }, (_, index): DiffRow => {
    const left = gone[index] ?? null
    const right = come[index] ?? null
    if (left !== null && left === right) return same(left)
    return { kind: left === null ? 'right' : right === null ? 'left' : 'changed', left, right }
  })
}

/** Rows as they are shown: long runs of equal lines are folded to how many they are. */
export type ShownRow = DiffRow | { readonly kind: 'folded'; readonly lines: number }

const around = 3

/** All that differs, with three equal lines around it; at most so many rows. */
export function foldRows(rows: readonly DiffRow[], most: number): readonly ShownRow[] {
  const isNear = new Uint8Array(rows.length)
  for (const [index, { kind }] of rows.entries()) {
    if (kind !== 'same') isNear.fill(1, Math.max(0, index - around), index + around + 1)
  }
  const shown: ShownRow[] = []
  let folded = 0
  for (const [index, row] of rows.entries()) {
    if (shown.length >= most || isNear[index] === 0) folded++
    else {
      if (folded > 0) shown.push({ kind: 'folded', lines: folded })
      folded = 0
      shown.push(row)
    }
  }
  if (folded > 0) shown.push({ kind: 'folded', lines: folded })
  return shown
}
