/** Pseudorandom numbers from a seed. */
export class Random {
  readonly #seed: number
  #state: number

  constructor(seed: number) {
    this.#seed = seed
    this.#state = seed >>> 0
  }

  /** Returns an independent generator, so one part of the simulation doesn't change the numbers of another. */
  fork(name: string): Random {
    return new Random(hashOf(`${this.#seed} ${name}`))
  }

  /** Returns a number in [0, 1). The algorithm is mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let t = this.#state
    t = Math.imul(t ^ (t >>> 15), t | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }

  /** True with this probability (0 to 1). */
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

  /** Picks a name with a probability proportional to its weight. */
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

/** 32-bit FNV-1a hash. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return hash >>> 0
}
