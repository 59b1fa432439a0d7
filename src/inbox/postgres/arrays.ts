/**
 * Arrays as PostgreSQL takes them in binary form. The driver would write them as text, with each element quoted and bytes as hex, which
 * costs both sides more than what is done with them. A parameter that is a buffer is sent as it is; the statement names its type.
 */
const oids = { boolean: 16, bytea: 17, bigint: 20, integer: 23, text: 25 } as const

const headerBytes = 20

/** `text[]`. No text may have U+0000: see `toStored`. */
export function textArray(values: readonly (string | null)[]): Buffer {
  const most = values.reduce((sum, value) => sum + (value?.length ?? 0) * 3, 0)
  const array = begin('text', values.length, most)
  let at = headerBytes
  for (const value of values) {
    const length = value === null ? -1 : array.write(value, at + 4, 'utf8')
    at = array.writeInt32BE(length, at) + Math.max(0, length)
  }
  return array.subarray(0, at)
}

/** `bytea[]`. */
export function byteArray(values: readonly Uint8Array[]): Buffer {
  const size = values.reduce((sum, { length }) => sum + length, 0)
  const array = begin('bytea', values.length, size)
  let at = headerBytes
  for (const value of values) {
    at = array.writeInt32BE(value.length, at)
    array.set(value, at)
    at += value.length
  }
  return array
}

/** `integer[]`: whole numbers of 32 bits. */
export function integerArray(values: readonly (number | null)[]): Buffer {
  const array = begin('integer', values.length, values.length * 4)
  let at = headerBytes
  for (const value of values) {
    at = array.writeInt32BE(value === null ? -1 : 4, at)
    if (value !== null) at = array.writeInt32BE(value, at)
  }
  return array.subarray(0, at)
}

/** `bigint[]`: whole numbers that JavaScript has exactly. */
export function bigintArray(values: readonly number[]): Buffer {
  const array = begin('bigint', values.length, values.length * 8)
  let at = headerBytes
  for (const value of values) {
    const high = Math.floor(value / 2 ** 32)
    at = array.writeInt32BE(8, at)
    at = array.writeInt32BE(high, at)
    at = array.writeUInt32BE(value - high * 2 ** 32, at)
  }
  return array
}

/** `boolean[]`. */
export function booleanArray(values: readonly boolean[]): Buffer {
  const array = begin('boolean', values.length, values.length)
  let at = headerBytes
  for (const value of values) {
    at = array.writeInt32BE(1, at)
    at = array.writeUInt8(value ? 1 : 0, at)
  }
  return array
}

/** Of one dimension, counted from 1; nulls may be among the elements. */
function begin(type: keyof typeof oids, length: number, size: number): Buffer {
  const array = Buffer.allocUnsafe(headerBytes + length * 4 + size)
  for (const [index, value] of [1, 1, oids[type], length, 1].entries()) array.writeInt32BE(value, index * 4)
  return array
}

/** What `array_to_string(…, ' ')` gives of an array of numbers; null is an empty one. */
export function numbersIn(text: string | null | undefined): number[] {
  return text === null || text === undefined || text === '' ? [] : text.split(' ').map(Number)
}
