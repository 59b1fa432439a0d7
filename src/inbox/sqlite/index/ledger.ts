import type { Database } from 'better-sqlite3'
import { createCounting, type CountedEvent, type Kind } from '../../index-counting.ts'
import { mostDrift, mostWallets } from '../../index-limits.ts'

interface CadenceRow {
  readonly kind_id: number
  readonly first_at: number
  readonly last_at: number
  readonly count: number
  readonly gaps: string
}

/** Counts events in tables of the index: each batch in the caller's transaction, and in as few rows as it can. */
export function createLedger(index: Database) {
  const insertKind = index.prepare<[number, string, string | null]>(
    'INSERT INTO kind (id, type, network) VALUES (?, ?, ?)',
  )
  const addTally = index.prepare<[number, number, number, number, number]>(
    `INSERT INTO tally (minute, kind_id, count, min_seq, max_seq) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
     SET count = count + excluded.count, min_seq = min(min_seq, excluded.min_seq), max_seq = max(max_seq, excluded.max_seq)`,
  )
  const addHour = index.prepare<[number, number, number]>(
    `INSERT INTO hour (hour, min_seq, max_seq) VALUES (?, ?, ?) ON CONFLICT DO UPDATE
     SET min_seq = min(min_seq, excluded.min_seq), max_seq = max(max_seq, excluded.max_seq)`,
  )
  const putCadence = index.prepare<[number, number, number, number, string]>(
    'INSERT OR REPLACE INTO cadence (kind_id, first_at, last_at, count, gaps) VALUES (?, ?, ?, ?, ?)',
  )
  const addDrift = index.prepare<[string, string, string, string, string, number, number, number, string]>(
    `INSERT INTO drift (kind, type, path, expected, example, count, first_at, last_at, first_event_id)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
     SET count = count + excluded.count, last_at = max(last_at, excluded.last_at)`,
  )
  const trimDrift = index.prepare<[number]>(
    `DELETE FROM drift WHERE (kind, type, path) IN
       (SELECT kind, type, path FROM drift ORDER BY last_at DESC, kind, type, path LIMIT -1 OFFSET ?)`,
  )
  const addSecret = index.prepare<[string, number, number, number]>(
    `INSERT INTO secret (label, first_at, last_at, count) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE
     SET last_at = max(last_at, excluded.last_at), count = count + excluded.count`,
  )
  const addWallet = index.prepare<[string, string, number]>(
    `INSERT INTO wallet (network, address, last_at) VALUES (?, ?, ?) ON CONFLICT DO UPDATE
     SET last_at = max(last_at, excluded.last_at)`,
  )
  const trimWallets = index.prepare<[number]>(
    `DELETE FROM wallet WHERE (network, address) IN
       (SELECT network, address FROM wallet ORDER BY last_at DESC, network, address LIMIT -1 OFFSET ?)`,
  )
  const countOf = (table: 'drift' | 'wallet') =>
    index.prepare<[], number>(`SELECT count(*) FROM ${table}`).pluck().get() ?? 0

  let count = load()

  function load() {
    const kinds = index.prepare<[], Kind>('SELECT id, type, network FROM kind').all()
    const rows = index.prepare<[], CadenceRow>('SELECT kind_id, first_at, last_at, count, gaps FROM cadence').all()
    const cadences = rows.map(({ kind_id: kindId, first_at: firstAt, last_at: lastAt, count: times, gaps }) => {
      return { kindId, firstAt, lastAt, count: times, gaps: JSON.parse(gaps) as number[] }
    })
    return createCounting(kinds, cadences)
  }

  function add(batch: readonly CountedEvent[]): void {
    const { kinds, tallies, hours, cadences, drift, secrets, wallets } = count(batch)
    for (const { id, type, network } of kinds) insertKind.run(id, type, network)
    for (const tally of tallies) addTally.run(tally.minute, tally.kindId, tally.count, tally.minSeq, tally.maxSeq)
    for (const { hour, minSeq, maxSeq } of hours) addHour.run(hour, minSeq, maxSeq)
    for (const { label, firstAt, lastAt, count: uses } of secrets) addSecret.run(label, firstAt, lastAt, uses)
    for (const { network, address, lastAt } of wallets) addWallet.run(network, address, lastAt)
    for (const { kindId, firstAt, lastAt, count: times, gaps } of cadences) {
      putCadence.run(kindId, firstAt, lastAt, times, JSON.stringify(gaps))
    }
    for (const { kind, type, path, expected, example, firstEventId, ...times } of drift) {
      addDrift.run(kind, type, path, expected, example, times.count, times.firstAt, times.lastAt, firstEventId)
    }
    if (drift.length > 0 && countOf('drift') > mostDrift) trimDrift.run(mostDrift)
    // Trimming sorts all of them: so it is done once for many.
    if (wallets.length > 0 && countOf('wallet') > mostWallets * 1.2) trimWallets.run(mostWallets)
  }

  return {
    add,
    /** Forgets what an end of the transaction undid. */
    reload() {
      count = load()
    },
  }
}
