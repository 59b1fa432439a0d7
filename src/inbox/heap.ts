/** A binary heap: `peek` and `pop` give the item that comes before all others. */
export class Heap<T> {
  readonly #items: T[] = []
  readonly #isBefore: (a: T, b: T) => boolean

  /** `isBefore` must be a strict order, and what it reads of an item must not change while the item is in the heap. */
  constructor(isBefore: (a: T, b: T) => boolean) {
    this.#isBefore = isBefore
  }

  peek(): T | undefined {
    return this.#items[0]
  }

  push(item: T): void {
    const items = this.#items
    let index = items.length
    items.push(item)
    while (index > 0) {
      const parentIndex = (index - 1) >> 1
      const parent = items[parentIndex]
      if (parent === undefined || !this.#isBefore(item, parent)) break
      items[index] = parent
      index = parentIndex
    }
    items[index] = item
  }

  pop(): T | undefined {
    const items = this.#items
    const first = items[0]
    const last = items.pop()
    if (last !== undefined && items.length > 0) this.#sink(last)
    return first
  }

  #sink(item: T): void {
    const items = this.#items
    let index = 0
    for (;;) {
      const left = items[2 * index + 1]
      const right = items[2 * index + 2]
      if (left === undefined) break
      const takeRight = right !== undefined && this.#isBefore(right, left)
      const child = takeRight ? right : left
      if (!this.#isBefore(child, item)) break
      items[index] = child
      index = 2 * index + (takeRight ? 2 : 1)
    }
    items[index] = item
  }
}
