import { createHash } from 'node:crypto'

/** An endless source of random numbers that depends on its seed and its name only. */
export interface RandomStream {
  /** 32 bytes. */
  bytes(): Buffer
  /** A number in [0, 1). */
  uniform(): number
  /** A number in [low, high), rounded to `decimals` places. */
  between(low: number, high: number, decimals: number): number
  /** A whole number from `low` to `high`, both included. */
  integer(low: number, high: number): number
  pick<T>(items: readonly T[]): T
}

/**
 * One stream per entity: draw n = SHA-256(seed|entity|n). What one entity draws never shifts the draws of another, so
 * adding an event type or a wallet leaves everything else as it was.
 */
export function createRandomStream(seed: string, entity: string): RandomStream {
  let drawn = 0
  const bytes = () => createHash('sha256').update(`${seed}|${entity}|${drawn++}`).digest()
  const uniform = () => bytes().readUIntBE(0, 6) / 2 ** 48
  const integer = (low: number, high: number) => low + Math.floor(uniform() * (high - low + 1))
  return {
    bytes,
    uniform,
    between: (low, high, decimals) => round(low + uniform() * (high - low), decimals),
    integer,
    pick(items) {
      const item = items[integer(0, items.length - 1)]
      if (item === undefined) throw new RangeError('pick: expected at least one item')
      return item
    },
  }
}

/** Rounds to `decimals` places. */
function round(value: number, decimals: number): number {
  const factor = 10 ** decimals
  return Math.round(value * factor) / factor
}
