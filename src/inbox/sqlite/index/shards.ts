import type { Database, Statement } from 'better-sqlite3'
import { createShard, shardName, shardOf } from './schema.ts'

interface ShardWrites {
  readonly put: Statement<[number, string]>
  readonly remove: Statement<[number]>
}

export type Shards = ReturnType<typeof createShards>

/** Writes to the full-text tables, of which the newest is made when it is needed. */
export function createShards(index: Database) {
  const known = index.prepare<[number], number>('SELECT n FROM shard WHERE n = ?').pluck()
  const insert = index.prepare<[number]>('INSERT INTO shard (n, is_pruned) VALUES (?, 0)')
  let open: { readonly shard: number; readonly writes: ShardWrites } | undefined

  /** Statements are kept of the shard that was written last: others are pruned now and then. */
  function writesOf(seq: number): ShardWrites {
    const shard = shardOf(seq)
    if (open?.shard === shard) return open.writes
    if (known.get(shard) === undefined) {
      createShard(index, shard)
      insert.run(shard)
    }
    const name = shardName(shard)
    const writes = {
      put: index.prepare<[number, string]>(`INSERT OR REPLACE INTO ${name} (rowid, words) VALUES (?, ?)`),
      remove: index.prepare<[number]>(`DELETE FROM ${name} WHERE rowid = CAST(? AS INTEGER)`),
    }
    open = { shard, writes }
    return writes
  }

  return {
    /** What an event is found by, be it new or not. */
    put: (seq: number, text: string) => void writesOf(seq).put.run(seq, text),
    remove: (seq: number) => void writesOf(seq).remove.run(seq),
    /** After the end of a transaction that was undone: a table that it made is gone. */
    forget() {
      open = undefined
    },
  }
}
