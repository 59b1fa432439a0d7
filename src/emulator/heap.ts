/** Items in order of due time, those of the same time in order of arrival. Push and pop take O(log n). */
export interface DueHeap<T> {
  readonly size: number
  push(dueAt: number, item: T): void
  /** When the first item is due, or null. */
  nextDueAt(): number | null
  /** The first item, or undefined. */
  first(): T | undefined
  /** Takes the first item out if it is due at `now`. */
  popDue(now: number): T | undefined
  clear(): void
}

/** A binary heap, so that a million pending retries need one timer, that of the first. */
export function createDueHeap<T>(): DueHeap<T> {
  const nodes: { dueAt: number; order: number; item: T }[] = []
  let order = 0

  const isBefore = (a: number, b: number) => {
    const left = nodes[a]
    const right = nodes[b]
    if (!left || !right) return false
    return left.dueAt < right.dueAt || (left.dueAt === right.dueAt && left.order < right.order)
  }
  const swap = (a: number, b: number) => {
    const left = nodes[a]
    const right = nodes[b]
    if (!left || !right) return
    nodes[a] = right
    nodes[b] = left
  }
  const sink = () => {
    for (let at = 0; ;) {
      const left = 2 * at + 1
      const child = isBefore(left + 1, left) ? left + 1 : left
      if (!isBefore(child, at)) return
      swap(child, at)
      at = child
    }
  }

  return {
    get size() {
      return nodes.length
    },
    push(dueAt, item) {
      let at = nodes.push({ dueAt, order: order++, item }) - 1
      for (let parent = (at - 1) >> 1; at > 0 && isBefore(at, parent); parent = (at - 1) >> 1) {
        swap(at, parent)
        at = parent
      }
    },
    nextDueAt: () => nodes[0]?.dueAt ?? null,
    first: () => nodes[0]?.item,
    popDue(now) {
      const first = nodes[0]
      if (!first || first.dueAt > now) return undefined
      swap(0, nodes.length - 1)
      nodes.pop()
      sink()
      return first.item
    },
    clear() {
      nodes.length = 0
    },
  }
}
