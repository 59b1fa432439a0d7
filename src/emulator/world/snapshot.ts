import { rowsPerChunk, type Chunk } from './columns.ts'
import type { Core } from './core.ts'
import { fillDirectory } from './directory.ts'
import type { SnapshotChunk, WorldSnapshot } from './port.ts'
import type { WorldState } from './state.ts'
import { createHash } from 'node:crypto'
import { deserialize, serialize } from 'node:v8'

interface CoreData {
  readonly state: WorldState
  readonly tradeCount: number
  readonly legCount: number
}

const tableNames = ['trades', 'legs'] as const

/** Everything that is: the state, and the trades in chunks. */
export function takeSnapshot(core: Core): WorldSnapshot {
  const { trades, legs } = core.trades
  const data: CoreData = { state: core.state, tradeCount: trades.length, legCount: legs.length }
  const chunks = tableNames.flatMap((name): SnapshotChunk[] => {
    const table = core.trades[name]
    return Array.from({ length: table.chunkCount }, (_, index) => {
      const chunk = table.chunk(index)
      const isFinal = (index + 1) * rowsPerChunk <= table.length
      return { key: toKey(name, index), isFinal, bytes: () => serialize(chunk) }
    })
  })
  return { core: serialize(data), chunks }
}

/** Puts the world back to where it was. Throws an Error, and changes nothing, if a chunk is missing. */
export function restoreSnapshot(core: Core, snapshot: WorldSnapshot): void {
  const data = deserialize(snapshot.core) as CoreData
  const byKey = new Map(snapshot.chunks.map((chunk) => [chunk.key, chunk]))
  const read = (name: (typeof tableNames)[number], length: number) =>
    Array.from({ length: Math.ceil(length / rowsPerChunk) }, (_, index) => {
      const chunk = byKey.get(toKey(name, index))
      if (chunk === undefined) throw new Error(`the snapshot lacks its part ${toKey(name, index)}`)
      return deserialize(chunk.bytes()) as Chunk
    })
  const trades = read('trades', data.tradeCount)
  const legs = read('legs', data.legCount)
  core.state = data.state
  core.trades.trades.load(data.tradeCount, trades)
  core.trades.legs.load(data.legCount, legs)
  core.trades.reindex()
  fillDirectory(core)
}

function toKey(table: string, index: number): string {
  return `${table}-${index}`
}

/** Equal states have equal digests. Hex SHA-256. */
export function digestOf(core: Core): string {
  const digest = createHash('sha256')
  digest.update(JSON.stringify(core.state, (_key, value: unknown) => toPlain(value)))
  for (const chunk of takeSnapshot(core).chunks) digest.update(chunk.bytes())
  return digest.digest('hex')
}

function toPlain(value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  return value instanceof Set ? [...value] : value
}
