/** How many rows a chunk has. All chunks but the last are full and never change again. */
export const rowsPerChunk = 16_384

/** The type of a column. Values of `i64` and `i128` are BigInt. */
export type ColumnType = 'u8' | 'i16' | 'u32' | 'f64' | 'i64' | 'i128'
type ValueOf<T extends ColumnType> = T extends 'i64' | 'i128' ? bigint : number
export type RowOf<S extends Schema> = { -readonly [K in keyof S]: ValueOf<S[K]> }
type Schema = Readonly<Record<string, ColumnType>>

/** The columns of a chunk by name. */
export type Chunk = Readonly<Record<string, Cells>>
type Cells = Uint8Array | Int16Array | Uint32Array | Float64Array | BigInt64Array | BigUint64Array

const makers: Readonly<Record<ColumnType, () => Cells>> = {
  u8: () => new Uint8Array(rowsPerChunk),
  i16: () => new Int16Array(rowsPerChunk),
  u32: () => new Uint32Array(rowsPerChunk),
  f64: () => new Float64Array(rowsPerChunk),
  i64: () => new BigInt64Array(rowsPerChunk),
  i128: () => new BigUint64Array(2 * rowsPerChunk),
}

/** Rows that are only ever added, a few bytes per number, in chunks. */
export interface Table<S extends Schema> {
  readonly length: number
  add(row: RowOf<S>): number
  get<K extends keyof S>(row: number, column: K): RowOf<S>[K]
  /** For a snapshot: how many chunks there are, and the columns of one. */
  readonly chunkCount: number
  chunk(index: number): Chunk
  /** Replaces everything. */
  load(length: number, chunks: readonly Chunk[]): void
}

export function createTable<S extends Schema>(schema: S): Table<S> {
  const names = Object.keys(schema)
  let chunks: Chunk[] = []
  let length = 0

  const newChunk = () => Object.fromEntries(names.map((name) => [name, makers[schema[name] ?? 'u8']()]))

  return {
    get length() {
      return length
    },
    get chunkCount() {
      return chunks.length
    },
    add(row) {
      const at = length % rowsPerChunk
      if (at === 0) chunks.push(newChunk())
      const chunk = chunks[chunks.length - 1]
      for (const name of names) {
        const cells = chunk?.[name]
        const value = row[name]
        if (cells instanceof BigUint64Array) {
          cells[2 * at] = BigInt.asUintN(64, value as bigint)
          cells[2 * at + 1] = (value as bigint) >> 64n
        } else if (cells instanceof BigInt64Array) cells[at] = value as bigint
        else if (cells !== undefined) cells[at] = value as number
      }
      return length++
    },
    get<K extends keyof S>(row: number, column: K): RowOf<S>[K] {
      const cells = row < length ? chunks[Math.floor(row / rowsPerChunk)]?.[column as string] : undefined
      if (cells === undefined) throw new RangeError(`row ${row}: expected one below ${length}`)
      const at = row % rowsPerChunk
      const value =
        cells instanceof BigUint64Array
          ? (cells[2 * at] ?? 0n) | (BigInt.asIntN(64, cells[2 * at + 1] ?? 0n) << 64n)
          : cells[at]
      return value as RowOf<S>[K]
    },
    chunk(index) {
      const chunk = chunks[index]
      if (chunk === undefined) throw new RangeError(`chunk ${index}: expected one below ${chunks.length}`)
      return chunk
    },
    load(newLength, newChunks) {
      chunks = [...newChunks]
      length = newLength
      // A chunk may have been put away when it had more rows.
      const used = length % rowsPerChunk
      if (used > 0) for (const cells of Object.values(chunks[chunks.length - 1] ?? {})) clearFrom(cells, used)
    },
  }
}

function clearFrom(cells: Cells, row: number): void {
  const first = (row * cells.length) / rowsPerChunk
  if (cells instanceof BigInt64Array || cells instanceof BigUint64Array) cells.fill(0n, first)
  else cells.fill(0, first)
}

/** A list of row numbers that only grows. */
export class RowList {
  #rows = new Uint32Array(8)
  #length = 0

  get length(): number {
    return this.#length
  }

  push(row: number): void {
    if (this.#length === this.#rows.length) {
      const grown = new Uint32Array(2 * this.#length)
      grown.set(this.#rows)
      this.#rows = grown
    }
    this.#rows[this.#length++] = row
  }

  /** The row at `index`; -1 if there is none. */
  at(index: number): number {
    return index >= 0 && index < this.#length ? (this.#rows[index] ?? -1) : -1
  }

  /** How many rows from the first on are `before`; it must hold for all up to some row and for none after it. */
  countWhile(isBefore: (row: number) => boolean): number {
    let low = 0
    let high = this.#length
    while (low < high) {
      const middle = (low + high) >> 1
      if (isBefore(this.at(middle))) low = middle + 1
      else high = middle
    }
    return low
  }
}
