import type { Database } from 'better-sqlite3'
import { addToCadence, type CadenceCounts } from '../../../insight/cadence.ts'
import type { DriftFinding } from '../../../insight/drift.ts'
import { mostDrift, mostKinds, mostWallets, otherKinds } from '../../index-limits.ts'
import { ownLabel } from '../../port.ts'

/** An event as it is counted. */
export interface CountedEvent {
  readonly seq: number
  readonly id: string
  readonly type: string
  readonly network: string | null
  readonly address: string | null
  readonly receivedAt: number
  readonly secretLabel: string
  readonly drift: readonly DriftFinding[]
}

interface Span {
  count: number
  minSeq: number
  maxSeq: number
}

interface Uses {
  readonly firstAt: number
  readonly lastAt: number
  readonly count: number
}

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
  const addDrift = index.prepare<[string, string, string, string, string, number, number, string]>(
    `INSERT INTO drift (kind, type, path, expected, example, count, first_at, last_at, first_event_id)
     VALUES (?, ?, ?, ?, ?, 1, ?, ?, ?) ON CONFLICT DO UPDATE SET count = count + 1, last_at = max(last_at, excluded.last_at)`,
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

  let kinds = new Map<string, number>()
  let cadences = new Map<number, CadenceCounts>()

  /** Forgets what an end of the transaction undid. */
  function reload(): void {
    const kindRows = index
      .prepare<[], { id: number; type: string; network: string | null }>('SELECT id, type, network FROM kind')
      .all()
    kinds = new Map(kindRows.map(({ id, type, network }) => [kindKey(type, network), id]))
    const rows = index.prepare<[], CadenceRow>('SELECT kind_id, first_at, last_at, count, gaps FROM cadence').all()
    cadences = new Map(
      rows.map(({ kind_id: id, first_at: firstAt, last_at: lastAt, count, gaps }) => {
        return [id, { firstAt, lastAt, count, gaps: JSON.parse(gaps) as number[] }]
      }),
    )
  }

  /** Types come from outside: of too many pairs, the later ones are counted together. */
  function kindOf(type: string, network: string | null): number {
    const known = kinds.get(kindKey(type, network))
    if (known !== undefined) return known
    if (kinds.size >= mostKinds && type !== otherKinds) return kindOf(otherKinds, null)
    const id = kinds.size + 1
    insertKind.run(id, type, network)
    kinds.set(kindKey(type, network), id)
    return id
  }

  function add(batch: readonly CountedEvent[]): void {
    const tallies = new Map<string, Span & { readonly minute: number; readonly kindId: number }>()
    const hours = new Map<number, Span>()
    const secrets = new Map<string, Uses>()
    const wallets = new Map<string, { readonly network: string; readonly address: string; readonly lastAt: number }>()
    const changed = new Set<number>()
    for (const event of batch) {
      const { seq, type, network, address, receivedAt, secretLabel } = event
      const kindId = kindOf(type, network)
      const minute = Math.floor(receivedAt / 60_000)
      widen(tallies, `${minute} ${kindId}`, () => ({ minute, kindId, count: 0, minSeq: seq, maxSeq: seq }), seq)
      widen(hours, Math.floor(minute / 60), () => ({ count: 0, minSeq: seq, maxSeq: seq }), seq)
      cadences.set(kindId, addToCadence(cadences.get(kindId), receivedAt))
      changed.add(kindId)
      if (secretLabel !== ownLabel) countUse(secrets, secretLabel, receivedAt)
      if (type.startsWith('wallet.') && network !== null && address !== null) {
        const lastAt = Math.max(receivedAt, wallets.get(`${network}:${address}`)?.lastAt ?? receivedAt)
        wallets.set(`${network}:${address}`, { network, address, lastAt })
      }
      for (const { kind, path, expected, example } of event.drift) {
        addDrift.run(kind, type, path, expected, example, receivedAt, receivedAt, event.id)
      }
    }
    for (const { minute, kindId, count, minSeq, maxSeq } of tallies.values()) {
      addTally.run(minute, kindId, count, minSeq, maxSeq)
    }
    for (const [hour, { minSeq, maxSeq }] of hours) addHour.run(hour, minSeq, maxSeq)
    for (const [label, { firstAt, lastAt, count }] of secrets) addSecret.run(label, firstAt, lastAt, count)
    for (const { network, address, lastAt } of wallets.values()) addWallet.run(network, address, lastAt)
    for (const id of changed) {
      const counts = cadences.get(id)
      if (counts === undefined) continue
      putCadence.run(id, counts.firstAt, counts.lastAt, counts.count, JSON.stringify(counts.gaps))
    }
    if (batch.some(({ drift }) => drift.length > 0) && countOf('drift') > mostDrift) trimDrift.run(mostDrift)
    // Trimming sorts all of them: so it is done once for many.
    if (wallets.size > 0 && countOf('wallet') > mostWallets * 1.2) trimWallets.run(mostWallets)
  }

  reload()
  return { add, reload }
}

function countUse(secrets: Map<string, Uses>, label: string, at: number): void {
  const { firstAt, lastAt, count } = secrets.get(label) ?? { firstAt: at, lastAt: at, count: 0 }
  secrets.set(label, { firstAt, lastAt: Math.max(lastAt, at), count: count + 1 })
}

function kindKey(type: string, network: string | null): string {
  return JSON.stringify([type, network])
}

function widen<K, S extends Span>(spans: Map<K, S>, key: K, create: () => S, seq: number): void {
  const span = spans.get(key) ?? create()
  spans.set(key, span)
  span.count += 1
  span.minSeq = Math.min(span.minSeq, seq)
  span.maxSeq = Math.max(span.maxSeq, seq)
}
