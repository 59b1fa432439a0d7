import type { HandlerStats, InboxStats, RunCounts } from '../../port.ts'
import type { Rows } from '../database.ts'
import { measureSize } from '../prune.ts'
import { fromStored } from '../text.ts'
import { noCounts } from '../../handler-counts.ts'
import { createRunCounts } from './run-counts.ts'
import { createTableCount } from './table-count.ts'

interface WholeRow {
  readonly lastSeq: number | null
  readonly paused: boolean | null
  readonly missingSeqs: number | null
}

type HandlerRow = Omit<HandlerStats, keyof RunCounts> & { readonly id: number }

const whole = `SELECT (SELECT seq FROM inbox.event ORDER BY seq DESC LIMIT 1) AS "lastSeq",
  (SELECT value = 1 FROM inbox.meta WHERE name = 'paused') AS paused,
  (SELECT value FROM inbox.meta WHERE name = 'missing_seqs') AS "missingSeqs"`
const handlers = `SELECT id, name AS handler, paused, concurrency, superseded, backfill_seq AS "backfillSeq"
  FROM inbox.handler ORDER BY name`
const receivedAtOfRun = `SELECT (SELECT e.received_at FROM inbox.event e WHERE e.seq = r.event_seq) AS at
  FROM inbox.run r WHERE r.id = $1::bigint`

/** Counts for people and metrics. `sizeBytes` is the estimate that pruning goes by. */
export function createStats(db: Rows): () => Promise<InboxStats> {
  const runCounts = createRunCounts(db)
  const quarantined = createTableCount(db, { table: 'quarantine', columns: ['seq'], begin: [0] })
  const conflicts = createTableCount(db, {
    table: 'conflict',
    columns: ['received_at', 'event_seq', 'digest'],
    begin: [-1, 0, ''],
  })

  async function receivedAt(runId: number): Promise<number | null> {
    const [row] = await db.query<{ at: number | null }>(receivedAtOfRun, [runId])
    return row?.at ?? null
  }

  return async () => {
    const [row] = await db.query<WholeRow>(whole)
    const rows = await db.query<HandlerRow>(handlers)
    const counts = await runCounts()
    const oldestRun = Math.min(...[...counts.values()].map((own) => own.oldestRun))
    const { lastSeq = null, paused = null, missingSeqs = null } = row ?? {}
    return {
      lastSeq: lastSeq ?? 0,
      quarantined: await quarantined(),
      conflicts: await conflicts(),
      paused: paused ?? false,
      handlers: rows.map(({ id, ...handler }) => {
        const { oldestRun: _, ...own } = counts.get(id) ?? noCounts
        return { ...handler, handler: fromStored(handler.handler), ...own }
      }),
      oldestOpenAt: oldestRun === Infinity ? null : await receivedAt(oldestRun),
      sizeBytes: Math.round((await measureSize(db)).usedBytes),
      missingSeqs: missingSeqs ?? 0,
    }
  }
}
