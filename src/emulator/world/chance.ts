import { hash } from 'node:crypto'

/** Number of draws of an entity. Plain data, so that a snapshot holds it. */
export interface Stream {
  readonly entity: string
  drawn: number
}

/** Random numbers that depend only on seed, entity and number of draws: entities don't affect each other. */
export interface Chance {
  /** Returns a number in [0, 1). */
  uniform(stream: Stream): number
  /** Returns a number in [low, high), a multiple of a millionth. */
  between(stream: Stream, low: number, high: number): number
  /** A whole number from `low` to `high`, both included. */
  integer(stream: Stream, low: number, high: number): number
  pick<T>(stream: Stream, items: readonly T[]): T
  /** Standard normal, a multiple of a millionth. */
  normal(stream: Stream): number
  /** Exponential with the mean 1, a multiple of a millionth. */
  exponential(stream: Stream): number
  /** 32 bytes for a name, independent of all draws. */
  bytes(name: string): Buffer
}

const numbersPerHash = 5
const bytesPerNumber = 6

/** Draw n of an entity is part n % 5 of SHA-256(seed|entity|floor(n / 5)). */
export function createChance(seed: string): Chance {
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
    uniform,
    between: (stream, low, high) => quantise(low + uniform(stream) * (high - low)),
    integer,
    pick(stream, items) {
      const item = items[integer(stream, 0, items.length - 1)]
      if (item === undefined) throw new RangeError('pick: expected at least one item')
      return item
    },
    normal(stream) {
      const radius = Math.sqrt(-2 * Math.log(1 - uniform(stream)))
      return quantise(radius * Math.cos(2 * Math.PI * uniform(stream)))
    },
    exponential: (stream) => quantise(-Math.log(1 - uniform(stream))),
    bytes: (name) => digest(`${seed}|${name}`),
  }
}

/** Rounds to a millionth: the last bit of logarithm and cosine may differ between machines. */
function quantise(value: number): number {
  return Math.round(value * 1e6) / 1e6
}
