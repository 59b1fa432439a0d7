import { createChance } from './world/chance.ts'

/** An endless source of random numbers that depends on its seed and its name only. */
export interface RandomStream {
  /** 32 bytes. */
  bytes(): Buffer
  /** A number in [0, 1). */
  uniform(): number
  /** A number in [low, high), a multiple of a millionth. */
  between(low: number, high: number): number
  /** A whole number from `low` to `high`, both included. */
  integer(low: number, high: number): number
  pick<T>(items: readonly T[]): T
  /** Standard normal, a multiple of a millionth. */
  normal(): number
}

/** One stream per entity: what one entity draws never shifts the draws of another. */
export function createRandomStream(seed: string, entity: string): RandomStream {
  const chance = createChance(seed)
  const stream = { entity, drawn: 0 }
  let blocks = 0
  return {
    bytes: () => chance.bytes(`${entity}|bytes|${blocks++}`),
    uniform: () => chance.uniform(stream),
    between: (low, high) => chance.between(stream, low, high),
    integer: (low, high) => chance.integer(stream, low, high),
    pick: (items) => chance.pick(stream, items),
    normal: () => chance.normal(stream),
  }
}

/** Returns `size` cryptographically random bytes. */
export type RandomBytes = (size: number) => Uint8Array

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const idLength = 20
const secretBytes = 24

/** An identifier such as `wh_3k9x…`: opaque, of 100 random bits (R31). */
export function drawId(prefix: string, randomBytes: RandomBytes): string {
  const letters = Array.from(randomBytes(idLength), (byte) => alphabet[byte % alphabet.length])
  return `${prefix}_${letters.join('')}`
}

/** A secret such as `whsec_…` or `sk_…`, of 192 random bits. */
export function drawSecret(prefix: string, randomBytes: RandomBytes): string {
  return `${prefix}_${Buffer.from(randomBytes(secretBytes)).toString('base64url')}`
}
