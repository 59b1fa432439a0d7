import Sqlite, { type Database, type Statement } from 'better-sqlite3'
import { bucketOf, mostDrift, mostWallets } from '../../index-limits.ts'
import type { Activity, ActivityQuery, Cadence, DriftRecord, KnownWallet, SecretUse } from '../../index-port.ts'
import { firstOf, shardName, shardOf } from './schema.ts'

/** The index itself failed, not what it was read for. */
export class IndexFailure extends Error {
  override readonly name = 'IndexFailure'
}

/** A step of a search: an event that was found, or null; everything from `reached` on was looked at. */
export interface SearchStep {
  readonly reached: number
  readonly found: number | null
}

export type IndexReads = ReturnType<typeof createIndexReads>

type Counted = Omit<Activity, 'at'> & { readonly minute: number }
type CadenceRow = Omit<Cadence, 'gaps'> & { readonly gaps: string }

/** Reads of an index. Each throws an `IndexFailure` where the index does not hold what it should. */
export function createIndexReads(index: Database) {
  const guarded = guard(() => {
    return {
      seq: index.prepare<[], number>(`SELECT value FROM meta WHERE name = 'seq'`).pluck(),
      hasShard: index.prepare<[number], number>('SELECT 1 FROM shard WHERE n = ?').pluck(),
      tallies: index.prepare<[number, number, number, number], Counted>(
        `SELECT t.minute, k.type, k.network, t.count FROM
           (SELECT minute / CAST(? AS INTEGER) * ? AS minute, kind_id, sum(count) AS count FROM tally WHERE minute >= ? AND minute < ? GROUP BY 1, 2) t
         JOIN kind k ON k.id = t.kind_id`,
      ),
      cadences: index.prepare<[], CadenceRow>(
        `SELECT k.type, k.network, c.first_at AS firstAt, c.last_at AS lastAt, c.count, c.gaps
         FROM cadence c JOIN kind k ON k.id = c.kind_id ORDER BY k.type, k.network`,
      ),
      drift: index.prepare<[number], DriftRecord>(
        `SELECT kind, type, path, expected, example, count, first_at AS firstAt, last_at AS lastAt, first_event_id AS firstEventId
         FROM drift ORDER BY last_at DESC, kind, type, path LIMIT ?`,
      ),
      secrets: index.prepare<[], SecretUse>(
        'SELECT label, first_at AS firstAt, last_at AS lastAt, count FROM secret ORDER BY label',
      ),
      wallets: index.prepare<[number], KnownWallet>(
        'SELECT network, address, last_at AS lastAt FROM wallet ORDER BY last_at DESC, network, address LIMIT ?',
      ),
      lowInHours: index.prepare<[number], number | null>('SELECT min(min_seq) FROM hour WHERE hour > ?').pluck(),
      highInHours: index.prepare<[number], number | null>('SELECT max(max_seq) FROM hour WHERE hour < ?').pluck(),
      hour: index.prepare<[number], { low: number; high: number }>(
        'SELECT min_seq AS low, max_seq AS high FROM hour WHERE hour = ?',
      ),
      minutes: index.prepare<[number, number], { low: number | null; high: number | null; first: number | null }>(
        `SELECT min(min_seq) AS low, max(max_seq) AS high, min(minute) AS first FROM tally WHERE minute >= ? AND minute <= ?`,
      ),
    }
  })
  const searches = new Map<number, Statement<[string, number, number], number>>()

  function searchOf(shard: number): Statement<[string, number, number], number> {
    const known = searches.get(shard)
    if (known !== undefined) return known
    const name = shardName(shard)
    const search = index
      .prepare<[string, number, number], number>(
        `SELECT rowid FROM ${name} WHERE ${name} MATCH ? AND rowid < CAST(? AS INTEGER) AND rowid >= CAST(? AS INTEGER) ORDER BY rowid DESC`,
      )
      .pluck()
    searches.set(shard, search)
    return search
  }

  /** Events below a place in the accept sequence, down to another one, the newest first. */
  function* search(match: string, below: number, lowest: number): Generator<SearchStep> {
    for (let shard = shardOf(below - 1); shard >= shardOf(lowest); shard -= 1) {
      const rows = guard(() => {
        return guarded.hasShard.get(shard) === undefined ? [] : searchOf(shard).iterate(match, below, lowest)
      })
      yield* guardAll(rows)
      yield { reached: Math.max(lowest, firstOf(shard)), found: null }
    }
  }

  /** The first in the accept sequence that may have been received at or after a time; null: none was. */
  function lowestSince(from: number): number | null {
    return guard(() => {
      const minute = Math.floor(from / 60_000)
      const hour = Math.floor(minute / 60)
      const inHour = edge(hour, minute, hour * 60 + 59)
      return least(inHour?.low ?? null, guarded.lowInHours.get(hour) ?? null)
    })
  }

  /** The last that may have been received before a time. */
  function highestBefore(to: number): number | null {
    return guard(() => {
      const minute = Math.floor((to - 1) / 60_000)
      const hour = Math.floor(minute / 60)
      const inHour = edge(hour, hour * 60, minute)
      const earlier = guarded.highInHours.get(hour) ?? null
      return inHour?.high === undefined || inHour.high === null ? earlier : Math.max(inHour.high, earlier ?? 0)
    })
  }

  /** Of an hour the minutes that count; where those are no longer kept, the whole of it. */
  function edge(hour: number, first: number, last: number) {
    const whole = guarded.hour.get(hour)
    if (whole === undefined) return undefined
    const kept = guarded.minutes.get(hour * 60, hour * 60 + 59)
    return kept?.first === null ? whole : guarded.minutes.get(first, last)
  }

  return {
    search,
    lowestSince,
    highestBefore,
    /** Up to which everything is in it. */
    indexedSeq: () => guard(() => guarded.seq.get() ?? 0),
    activity(query: ActivityQuery): readonly Activity[] {
      const { from, to, bucketMs } = query
      const minutes = bucketMs / 60_000
      const rows = guard(() => {
        return guarded.tallies.all(minutes, minutes, Math.floor(from / 60_000), Math.ceil(to / 60_000))
      })
      return rows
        .map(({ minute, ...counted }) => ({ at: bucketOf(minute * 60_000, bucketMs), ...counted }))
        .toSorted((a, b) => a.at - b.at || compare(a.type, b.type) || compare(a.network ?? '', b.network ?? ''))
    },
    cadences: (): readonly Cadence[] =>
      guard(() => guarded.cadences.all().map(({ gaps, ...row }) => ({ ...row, gaps: JSON.parse(gaps) as number[] }))),
    drift: (): readonly DriftRecord[] => guard(() => guarded.drift.all(mostDrift)),
    secretUses: (): readonly SecretUse[] => guard(() => guarded.secrets.all()),
    knownWallets: (): readonly KnownWallet[] => guard(() => guarded.wallets.all(mostWallets)),
  }
}

function least(a: number | null, b: number | null): number | null {
  if (a === null || b === null) return a ?? b
  return Math.min(a, b)
}

function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

function guard<T>(read: () => T): T {
  try {
    return read()
  } catch (error) {
    throw toFailure(error)
  }
}

function* guardAll(rows: Iterable<number>): Generator<SearchStep> {
  const iterator = rows[Symbol.iterator]()
  try {
    for (;;) {
      const next = guard(() => iterator.next())
      if (next.done === true) return
      yield { reached: next.value, found: next.value }
    }
  } finally {
    iterator.return?.()
  }
}

function toFailure(error: unknown): unknown {
  return error instanceof Sqlite.SqliteError || error instanceof TypeError
    ? new IndexFailure(error.message, { cause: error })
    : error
}
