import { createRandomStream } from '../../src/emulator/random.ts'

export type Random = ReturnType<typeof createRandom>

/** The random numbers of one part of a simulation: another part doesn't change them. */
export function createRandom(seed: number, part: string) {
  const { uniform, integer } = createRandomStream(String(seed), part)
  return {
    /** Returns a number in [0, 1). */
    next: uniform,
    integer,
    pick: <T>(items: readonly T[]) => items[integer(0, items.length - 1)] as T,
    /** True with this probability (0 to 1). */
    chance: (probability: number) => probability > 0 && uniform() < probability,
    /** Picks a name with a probability proportional to its weight. */
    weighted<K extends string>(weights: { readonly [name in K]?: number }): K {
      const entries = Object.entries(weights) as [K, number][]
      let rest = uniform() * entries.reduce((sum, [, weight]) => sum + weight, 0)
      for (const [name, weight] of entries) {
        rest -= weight
        if (rest < 0) return name
      }
      throw new RangeError('nothing to pick from')
    },
  }
}

/** 32-bit FNV-1a hash. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193)
  return hash >>> 0
}
