import { hash } from 'node:crypto'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import type { Database } from 'better-sqlite3'
import { InboxError } from '../../base/errors.ts'
import type { AccountsState } from '../accounts/accounts.ts'
import type { WorldSnapshot } from '../world/port.ts'
import { rowsPerPortion, type TradePortion } from '../world/trade-log.ts'

/** The world and the accounts as of one moment. */
export interface SavedState {
  /** World time. */
  readonly at: number
  readonly accounts: AccountsState
  readonly world: WorldSnapshot
}

/** States share chunks of trades with equal content. */
export const stateTables = `
  CREATE TABLE state (
    seq INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, at INTEGER NOT NULL, accounts TEXT NOT NULL, world BLOB NOT NULL,
    chunks TEXT NOT NULL
  ) STRICT;
  CREATE TABLE chunk (digest TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
`

/** States by name, in tables of `db`. */
export function createSavedStates(db: Database) {
  const removeState = db.prepare<[string]>('DELETE FROM state WHERE name = ?')
  const insert = db.prepare<[string, number, string, Uint8Array, string]>(
    'INSERT INTO state (name, at, accounts, world, chunks) VALUES (?, ?, ?, ?, ?)',
  )
  const select = db.prepare<[string], { at: number; accounts: string; world: Uint8Array; chunks: string }>(
    'SELECT at, accounts, world, chunks FROM state WHERE name = ?',
  )
  const all = db.prepare<[], { name: string; at: number }>('SELECT name, at FROM state ORDER BY seq')
  const putChunk = db.prepare<[string, Uint8Array]>('INSERT OR IGNORE INTO chunk (digest, bytes) VALUES (?, ?)')
  const hasChunk = db.prepare<[string], unknown>('SELECT 1 FROM chunk WHERE digest = ?')
  const selectChunk = db.prepare<[string], Uint8Array>('SELECT bytes FROM chunk WHERE digest = ?').pluck()
  const dropUnused = db.prepare<[]>(
    'DELETE FROM chunk WHERE digest NOT IN (SELECT value FROM state, json_each(state.chunks))',
  )
  /** Digests of full portions: each is compressed once. */
  const digests = new WeakMap<TradePortion, string>()

  function writeChunk(trades: TradePortion): string {
    const digestBefore = digests.get(trades)
    if (digestBefore !== undefined && hasChunk.get(digestBefore) !== undefined) return digestBefore
    const text = trades.join('\n')
    const digest = hash('sha256', text)
    putChunk.run(digest, zstdCompressSync(text))
    if (trades.length === rowsPerPortion) digests.set(trades, digest)
    return digest
  }

  function readChunk(digest: string): TradePortion {
    const bytes = selectChunk.get(digest)
    if (bytes === undefined) throw new InboxError('database_corrupt', 'the data file lacks a chunk of trades')
    const trades = zstdDecompressSync(bytes).toString('latin1').split('\n')
    if (trades.length === rowsPerPortion) digests.set(trades, digest)
    return trades
  }

  return {
    /** Replaces a state of the same name. */
    put(name: string, { at, accounts, world }: SavedState): void {
      const chunks = world.trades.map(writeChunk)
      removeState.run(name)
      insert.run(name, at, JSON.stringify(accounts), zstdCompressSync(world.state), JSON.stringify(chunks))
      dropUnused.run()
    },
    get(name: string): SavedState | null {
      const row = select.get(name)
      if (row === undefined) return null
      return {
        at: row.at,
        accounts: JSON.parse(row.accounts) as AccountsState,
        world: {
          state: zstdDecompressSync(row.world),
          trades: (JSON.parse(row.chunks) as readonly string[]).map(readChunk),
        },
      }
    },
    /** False if there is none of this name. */
    remove(name: string): boolean {
      const wasDeleted = removeState.run(name).changes > 0
      dropUnused.run()
      return wasDeleted
    },
    /** Oldest first. */
    list: () => all.all(),
  }
}
