/** Pseudorandom numbers from a seed. */
export class Random {
  readonly #seed: number
  #state: number

  constructor(seed: number) {
    this.#seed = seed
    this.#state = seed >>> 0
  }

  /** An independent stream, so that one part of the simulation does not shift the numbers of others. */
  fork(name: string): Random {
    return new Random(hashOf(`${this.#seed} ${name}`))
  }

  /** A number in [0, 1), by mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  chance(probability: number): boolean {
    return probability > 0 && this.next() < probability
  }

  /** A whole number from `low` to `high`, both included. */
  integer(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1))
  }

  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new RangeError('nothing to pick from')
    return items[this.integer(0, items.length - 1)] as T
  }

  /** A name, by weight. */
  weighted<K extends string>(weights: { readonly [name in K]?: number }): K {
    const entries = Object.entries(weights) as [K, number][]
    let rest = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [name, weight] of entries) {
      rest -= weight
      if (rest < 0) return name
    }
    throw new RangeError('nothing to pick from')
  }
}

/** FNV-1a. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return hash >>> 0
}
