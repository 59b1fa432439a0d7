/** Something due at a moment. Plain data, so that a snapshot can hold it. */
export interface Due {
  readonly at: number
  /** Order at the same moment: smallest first. */
  readonly priority: number
  /** Order at the same priority: planned first comes first. */
  readonly order: number
}

/** Inserts an item; the list stays sorted, next due first. */
export function addDue<T extends Due>(list: T[], item: T): void {
  list.splice(
    countWhile(list, (other) => isBefore(other, item)),
    0,
    item,
  )
}

/** Removes and returns the first item if it is due by `now`. */
export function takeDue<T extends Due>(list: T[], now: number): T | undefined {
  const [first] = list
  return first === undefined || first.at > now ? undefined : list.shift()
}

/** How many items at the start of a list match. No item after the first mismatch may match. */
export function countWhile<T>(list: readonly T[], matches: (item: T) => boolean): number {
  let [low, high] = [0, list.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (matches(list[middle] as T)) low = middle + 1
    else high = middle
  }
  return low
}

function isBefore(a: Due, b: Due): boolean {
  if (a.at !== b.at) return a.at < b.at
  return a.priority === b.priority ? a.order < b.order : a.priority < b.priority
}
