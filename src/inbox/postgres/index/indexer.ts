import { setImmediate as breathe } from 'node:timers/promises'
import { readForIndex } from '../../insight/read.ts'
import {
  createCounting,
  type Counted,
  type CountedEvent,
  type EventToIndex,
  type Kind,
  type KindCadence,
} from '../../index-counting.ts'
import { mark } from '../../index-terms.ts'
import { partsOfKey } from '../../replay-filter.ts'
import type { Rows } from '../database.ts'
import { fromStored, fromStoredOrNull, toStored, toStoredOrNull } from '../text.ts'
import { indexVersion } from './schema.ts'
import { vectorOf } from './terms.ts'

const mostPerBatch = 200
/** Bodies may be large: so many bytes of them are read at once, and one more. */
const mostBatchBytes = 1024 * 1024
/** For so long nothing else of this process has its turn. */
const sliceMs = 3

const mostPrunedPerStep = 500
const keptTallyMs = 400 * 24 * 3_600_000
const tallyMinutesPerStep = 60

/** What is known of the index: it holds as long as nobody else makes a step. */
interface Known {
  readonly step: number
  readonly seq: number
  readonly count: (batch: readonly CountedEvent[]) => Counted
}

/** `lost`: another replica was quicker. `none`: all is in it, or it is kept by a newer program. */
export type Step = 'some' | 'none' | 'lost'

export type Indexer = ReturnType<typeof createIndexer>

/**
 * Brings the index up to what is stored. Each batch is written with how far it goes, in one statement, and only onto what this replica
 * has seen: so nothing is in it twice, whoever else fills it, and a kill between two leaves nothing out. `elapsed`: milliseconds of a clock
 * that is never set. Each call throws what a statement does. No two calls at once.
 */
export function createIndexer(db: Rows, now: () => number, elapsed: () => number = () => performance.now()) {
  let known: Known | undefined
  let sweptTo = 0

  async function load(): Promise<Known | null> {
    const meta = () =>
      db.query<{ version: number; step: number; seq: number }>('SELECT version, step, seq FROM inbox.index_meta')
    let [row] = await meta()
    if (row === undefined || row.version < indexVersion) {
      await clear()
      ;[row] = await meta()
    }
    if (row?.version !== indexVersion) return null
    // Where somebody changes them in between, the step that was seen is not there any more.
    const kinds = await db.query<Kind>('SELECT id, type, network FROM inbox.index_kind')
    const cadences = await db.query<Omit<KindCadence, 'gaps'> & { readonly gaps: string }>(
      'SELECT kind_id AS "kindId", first_at AS "firstAt", last_at AS "lastAt", count, gaps FROM inbox.index_cadence',
    )
    const count = createCounting(
      kinds.map(({ id, type, network }) => ({ id, type: fromStored(type), network: fromStoredOrNull(network) })),
      cadences.map(({ gaps, ...counts }) => ({ ...counts, gaps: JSON.parse(gaps) as number[] })),
    )
    return { step: row.step, seq: row.seq, count }
  }

  /** Somebody may have emptied it. */
  async function isStill({ step: seen }: Known): Promise<boolean> {
    const [row] = await db.query<{ step: number }>('SELECT step FROM inbox.index_meta')
    return row?.step === seen
  }

  async function clear(): Promise<void> {
    known = undefined
    await db.query('SELECT inbox.index_clear($1, $2)', [indexVersion, now()])
  }

  /** Indexes some events. */
  async function step(): Promise<Step> {
    const from = known ?? (await load())
    // Whatever fails, or was done by somebody else: what is known then is to be read anew.
    known = undefined
    if (from === null) return 'none'
    const events = await eventsAfter(from.seq)
    const last = events.at(-1)
    if (last === undefined) {
      if (!(await isStill(from))) return 'lost'
      known = from
      return 'none'
    }
    const vectors: object[] = []
    const batch: CountedEvent[] = []
    let until = elapsed() + sliceMs
    for (const event of events) {
      const { seq, id, type, receivedAt, secretLabel, raw } = event
      const { network, address } = partsOfKey(event.key)
      const { words, drift } = raw === null ? { words: [], drift: [] } : readForIndex(raw, { id, type })
      vectors.push({ seq, live: raw !== null, words: vectorOf(seq, words, { type, network, address }) })
      batch.push({ seq, id, type, network, address, receivedAt, secretLabel, drift })
      if (elapsed() < until) continue
      await breathe()
      until = elapsed() + sliceMs
    }
    const [added] = await db.query<{ done: boolean }>('SELECT inbox.index_add($1, $2, $3, $4) AS done', [
      from.step,
      last.seq,
      JSON.stringify(vectors),
      JSON.stringify(asStored(from.count(batch))),
    ])
    if (added?.done !== true) return 'lost'
    known = { ...from, step: from.step + 1, seq: last.seq }
    return 'some'
  }

  async function eventsAfter(seq: number): Promise<EventToIndex[]> {
    const rows = await db.query<EventToIndex>(
      `SELECT seq, id, type, key, "receivedAt", "secretLabel", raw FROM (
         SELECT e.seq, e.id, e.type, e.key, e.received_at AS "receivedAt", e.secret_label AS "secretLabel", b.raw,
           sum(octet_length(b.raw)) OVER (ORDER BY e.seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
         FROM (SELECT * FROM inbox.event WHERE seq > $1 ORDER BY seq LIMIT $2) e LEFT JOIN inbox.body b ON b.seq = e.seq
       ) numbered WHERE before IS NULL OR before < $3 ORDER BY seq`,
      [seq, mostPerBatch, mostBatchBytes],
    )
    return rows.map(({ id, type, key, secretLabel, ...row }) => {
      const texts = {
        id: fromStored(id),
        type: fromStored(type),
        key: fromStoredOrNull(key),
        secretLabel: fromStored(secretLabel),
      }
      return { ...row, ...texts }
    })
  }

  /** Gives how many events were looked at. */
  async function pruneBetween(after: number, before: number): Promise<{ looked: number; last: number }> {
    const [row] = await db.query<{ looked: number; last: number }>(
      'SELECT looked, last FROM inbox.index_prune($1, $2, $3, $4)',
      [after, before, mark, mostPrunedPerStep],
    )
    return row ?? { looked: 0, last: 0 }
  }

  /**
   * Takes out the words of what was pruned of the database, a bounded piece at a time; what was counted of it stays. Most go in the
   * order of the sequence, so those before the oldest body are at hand; for others it looks at all, bit by bit, again and again. Gives
   * whether there may be more at hand.
   */
  async function prune(): Promise<boolean> {
    const [oldest] = await db.query<{ seq: number }>('SELECT seq FROM inbox.body ORDER BY seq LIMIT 1')
    const old = await pruneBetween(0, oldest?.seq ?? Number.MAX_SAFE_INTEGER)
    if (old.looked > 0) return true
    const swept = await pruneBetween(sweptTo, Number.MAX_SAFE_INTEGER)
    sweptTo = swept.looked < mostPrunedPerStep ? 0 : swept.last
    // Whole hours: of one that is not kept any more the row of the hour is taken instead.
    await db.query(
      'DELETE FROM inbox.index_tally WHERE minute < least($1::bigint, (SELECT min(minute) FROM inbox.index_tally) / 60 * 60 + $2)',
      [Math.floor((now() - keptTallyMs) / 3_600_000) * 60, tallyMinutesPerStep],
    )
    return false
  }

  return {
    step,
    prune,
    clear,
    /** The number of the newest event that is stored. */
    async newestSeq(): Promise<number> {
      const [row] = await db.query<{ seq: number }>('SELECT last_seq AS seq FROM inbox.counter')
      return row?.seq ?? 0
    },
  }
}

/** Texts from outside as they are stored. */
function asStored({ kinds, cadences, drift, secrets, wallets, ...counted }: Counted) {
  return {
    ...counted,
    kinds: kinds.map(({ id, type, network }) => ({
      id,
      type: toStored(type),
      network: toStoredOrNull(network),
    })),
    cadences: cadences.map(({ gaps, ...counts }) => ({ ...counts, gaps: JSON.stringify(gaps) })),
    drift: drift.map(({ type, path, example, firstEventId, ...record }) => {
      return {
        ...record,
        type: toStored(type),
        path: toStored(path),
        example: toStored(example),
        firstEventId: toStored(firstEventId),
      }
    }),
    secrets: secrets.map(({ label, ...use }) => ({ ...use, label: toStored(label) })),
    wallets: wallets.map(({ network, address, lastAt }) => ({
      network: toStored(network),
      address: toStored(address),
      lastAt,
    })),
  }
}
