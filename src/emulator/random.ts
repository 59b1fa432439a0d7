import { hash } from 'node:crypto'

/** Number of draws of an entity. Plain data, so that a snapshot holds it. */
export interface Stream {
  readonly entity: string
  drawn: number
}

const numbersPerHash = 5
const bytesPerNumber = 6

export type Chance = ReturnType<typeof createChance>

/**
 * Random numbers that depend only on seed, entity and number of draws: entities don't affect each other. Draw n of an
 * entity is part n % 5 of SHA-256(seed|entity|floor(n / 5)).
 */
export function createChance(seed: string) {
  const blocks = new WeakMap<Stream, { readonly number: number; readonly bytes: Buffer }>()
  const digest = (text: string) => hash('sha256', text, 'buffer')

  const uniform = (stream: Stream) => {
    const number = Math.floor(stream.drawn / numbersPerHash)
    let block = blocks.get(stream)
    if (block?.number !== number) {
      block = { number, bytes: digest(`${seed}|${stream.entity}|${number}`) }
      blocks.set(stream, block)
    }
    const offset = (stream.drawn++ % numbersPerHash) * bytesPerNumber
    return block.bytes.readUIntBE(offset, bytesPerNumber) / 2 ** 48
  }
  const integer = (stream: Stream, low: number, high: number) => low + Math.floor(uniform(stream) * (high - low + 1))

  return {
    /** Returns a number in [0, 1). */
    uniform,
    /** Returns a number in [low, high), a multiple of a millionth. */
    between: (stream: Stream, low: number, high: number) => quantise(low + uniform(stream) * (high - low)),
    /** A whole number from `low` to `high`, both included. */
    integer,
    pick<T>(stream: Stream, items: readonly T[]): T {
      const item = items[integer(stream, 0, items.length - 1)]
      if (item === undefined) throw new RangeError('pick: expected at least one item')
      return item
    },
    /** Standard normal, a multiple of a millionth. */
    normal(stream: Stream) {
      const radius = Math.sqrt(-2 * Math.log(1 - uniform(stream)))
      return quantise(radius * Math.cos(2 * Math.PI * uniform(stream)))
    },
    /** Exponential with the mean 1, a multiple of a millionth. */
    exponential: (stream: Stream) => quantise(-Math.log(1 - uniform(stream))),
    /** 32 bytes for a name, independent of all draws. */
    bytes: (name: string) => digest(`${seed}|${name}`),
  }
}

/** Rounds to a millionth: the last bit of logarithm and cosine may differ between machines. */
function quantise(value: number): number {
  return Math.round(value * 1e6) / 1e6
}

export type RandomStream = ReturnType<typeof createRandomStream>

/** The draws of one entity, for users without a snapshot. */
export function createRandomStream(seed: string, entity: string) {
  const chance = createChance(seed)
  const stream = { entity, drawn: 0 }
  let blocks = 0
  return {
    bytes: () => chance.bytes(`${entity}|bytes|${blocks++}`),
    uniform: () => chance.uniform(stream),
    between: (low: number, high: number) => chance.between(stream, low, high),
    integer: (low: number, high: number) => chance.integer(stream, low, high),
    pick: <T>(items: readonly T[]) => chance.pick(stream, items),
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
