import type { Clock } from '../../../base/clock.ts'
import { runStates, type AttemptRecord, type EventDetail, type RunRecord } from '../../port.ts'
import type { Rows } from '../database.ts'
import { state } from '../progress.ts'
import { fromStored, fromStoredOrNull, toStored } from '../text.ts'
import { attemptColumns, toError, type AttemptRow } from './attempts.ts'
import { eventColumns, toSummary, type EventRow } from './event-rows.ts'
import { createStateKeys } from './state-keys.ts'

interface DetailRow extends EventRow {
  readonly secretLabel: string
  readonly raw: Buffer | null
  readonly isPruned: boolean
  readonly duplicates: number | null
  readonly conflicts: number | null
  readonly storedMs: number | null
  readonly headers: string | null
  readonly trace: string | null
  readonly runs: readonly RunRow[] | null
}

interface RunRow {
  readonly id: number
  readonly handlerId: number
  readonly handler: string
  readonly state: number
  readonly runAt: number
  readonly attempt: number
  readonly crashed: number
  readonly replayId: number
  readonly startedAt: number | null
  readonly endedAt: number | null
  readonly payload: string | null
  readonly idempotencyKey: string | null
  readonly attempts: readonly AttemptRow[] | null
}

// In one statement, so that what it says of an event and of its runs is of one moment. What is looked up stands in subqueries: of a
// join the planner might read a whole table.
const attempts = `SELECT json_agg(a ORDER BY a.seq) FROM (
  SELECT seq, ${attemptColumns} FROM inbox.attempt WHERE run_id = r.id) a`
const runs = `SELECT json_agg(o ORDER BY o.id) FROM (
  SELECT r.id, r.handler_id AS "handlerId", (SELECT h.name FROM inbox.handler h WHERE h.id = r.handler_id) AS handler, r.state,
    r.run_at AS "runAt", r.attempt, r.crashed, r.replay_id AS "replayId", r.started_at AS "startedAt", r.ended_at AS "endedAt",
    (SELECT i.payload FROM inbox.item i WHERE i.run_id = r.id) AS payload,
    (SELECT i.idempotency_key FROM inbox.item i WHERE i.run_id = r.id) AS "idempotencyKey",
    (${attempts}) AS attempts
  FROM inbox.run r WHERE r.event_seq = e.seq) o`
const detail = `SELECT ${eventColumns}, e.secret_label AS "secretLabel", e.stored_ms AS "storedMs", e.trace,
  e.final_status IS NOT NULL AS "isPruned",
  (SELECT b.raw FROM inbox.body b WHERE b.seq = e.seq) AS raw,
  (SELECT d.count FROM inbox.redelivery d WHERE d.event_seq = e.seq) AS duplicates,
  (SELECT sum(c.count) FROM inbox.conflict c WHERE c.event_seq = e.seq) AS conflicts,
  (SELECT s.headers FROM inbox.header_set s WHERE s.id = e.header_set) AS headers,
  (${runs}) AS runs
  FROM inbox.event e WHERE e.id = $1`

/** All that is kept of one event. */
export function createDetailView(
  db: Rows,
  clock: Pick<Clock, 'now'>,
): { event(id: string): Promise<EventDetail | null> } {
  const stateKeysOf = createStateKeys(db)

  async function runRecords(rows: readonly RunRow[]): Promise<RunRecord[]> {
    // Only a run that is done, of a handler and not of a sink, has written anything.
    const writers = Map.groupBy(
      rows.filter((run) => run.state === state.done && run.payload === null),
      (run) => run.handlerId,
    )
    const keys = new Map<number, readonly string[]>()
    for (const [handlerId, own] of writers) {
      const runIds = own.map(({ id }) => id)
      for (const [runId, stateKeys] of await stateKeysOf(handlerId, runIds, clock.now())) keys.set(runId, stateKeys)
    }
    return rows.map((run) => toRunRecord(run, keys.get(run.id) ?? []))
  }

  return {
    async event(id) {
      const [row] = await db.query<DetailRow>(detail, [toStored(id)])
      if (row === undefined) return null
      const summary = toSummary(row)
      return {
        ...summary,
        key: fromStoredOrNull(row.key) ?? summary.id,
        secretLabel: fromStored(row.secretLabel),
        raw: row.raw ?? Buffer.alloc(0),
        pruned: row.isPruned,
        duplicates: row.duplicates ?? 0,
        conflicts: row.conflicts ?? 0,
        storedAt: row.storedMs === null ? null : row.receivedAt + row.storedMs,
        headers: fromStoredOrNull(row.headers),
        trace: fromStoredOrNull(row.trace),
        runs: await runRecords(row.runs ?? []),
      }
    },
  }
}

/** Attempts that failed have rows of their own; the one that succeeded is told by the run itself. */
function toRunRecord(run: RunRow, stateKeys: readonly string[]): RunRecord {
  const { attempt, startedAt, endedAt, payload, idempotencyKey } = run
  const records = (run.attempts ?? []).map((row): AttemptRecord => ({
    attempt: row.attempt,
    startedAt: row.startedAt,
    endedAt: row.endedAt,
    outcome: row.outcome,
    error: toError(row),
  }))
  if (run.state === state.done && startedAt !== null && endedAt !== null) {
    records.push({ attempt, startedAt, endedAt, outcome: 'done', error: null })
  }
  return {
    runId: run.id,
    handler: fromStored(run.handler),
    state: runStates[run.state] ?? 'done',
    attempt,
    crashed: run.crashed,
    runAt: run.state < state.running ? run.runAt : null,
    replay: run.replayId === 0 ? null : run.replayId,
    item:
      payload === null || idempotencyKey === null
        ? null
        : { payload: fromStored(payload), idempotencyKey: fromStored(idempotencyKey) },
    // One that was given back was not taken up.
    startedAt: attempt === 0 ? null : startedAt,
    endedAt,
    stateKeys,
    attempts: records,
  }
}
