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

/** Gives so many random bytes that nobody can guess. */
export type RandomBytes = (size: number) => Uint8Array

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const idLength = 20
const secretBytes = 24

/** An identifier such as `wh_3k9x…`: opaque, of 100 random bits (R31). */
export function drawId(prefix: string, randomBytes: RandomBytes): string {
  const letters = Array.from(randomBytes(idLength), (byte) => alphabet[byte % alphabet.length])
  return `${prefix}_${letters.join('')}`
}

/** A value to be kept secret, such as `whsec_…` or `sk_…`, of 192 random bits. */
export function drawSecret(prefix: string, randomBytes: RandomBytes): string {
  return `${prefix}_${Buffer.from(randomBytes(secretBytes)).toString('base64url')}`
}
