import type { Database } from 'better-sqlite3'
import type { Clock } from '../../base/clock.ts'
import { runStates, type AttemptRecord, type EventDetail, type EventSummary, type RunRecord } from '../port.ts'
import { attemptsText, toError, type AttemptRow } from './attempts.ts'
import { createStateKeys } from './state-keys-of-runs.ts'
import { state } from './statements.ts'

interface EventRow {
  readonly seq: number
  readonly id: string
  readonly received_at: number
  readonly key: string | null
  readonly secret_label: string
  readonly final_status: number | null
  readonly stored_ms: number | null
  readonly headers: string | null
  readonly trace: string | null
}

interface RunRow {
  readonly id: number
  readonly handler_id: number
  readonly handler: string
  readonly state: number
  readonly run_at: number
  readonly attempt: number
  readonly crashed: number
  readonly replay_id: number
  readonly started_at: number | null
  readonly ended_at: number | null
  readonly payload: string | null
  readonly idempotency_key: string | null
}

/** All that is kept of one event, but for what its summary says. */
export function createDetailView(db: Database, clock: Pick<Clock, 'now'>) {
  const eventBySeq = db.prepare<[number], EventRow>(
    `SELECT e.seq, e.id, e.received_at, e.key, e.secret_label, e.final_status, e.stored_ms, s.headers, e.trace
     FROM event e LEFT JOIN header_set s ON s.id = e.header_set WHERE e.seq = ?`,
  )
  const bodyOf = db.prepare<[number], { raw: Buffer }>('SELECT raw FROM body WHERE seq = ?')
  const runsOf = db.prepare<[number], RunRow>(
    `SELECT r.id, r.handler_id, h.name AS handler, r.state, r.run_at, r.attempt, r.crashed, r.replay_id, r.started_at,
       r.ended_at, i.payload, i.idempotency_key
     FROM run r INDEXED BY run_event JOIN handler h ON h.id = r.handler_id LEFT JOIN item i ON i.run_id = r.id
     WHERE r.event_seq = ? ORDER BY r.id`,
  )
  const attemptsOf = db.prepare<[number], AttemptRow>(attemptsText)
  const redeliveriesOf = db.prepare<[number], { count: number }>('SELECT count FROM redelivery WHERE event_seq = ?')
  const conflictsOf = db.prepare<[number], { count: number | null }>(
    'SELECT sum(count) AS count FROM conflict WHERE event_seq = ?',
  )
  const stateKeysOf = createStateKeys(db)

  function runRecords(seq: number): RunRecord[] {
    const runs = runsOf.all(seq)
    // Only a run that is done, of a handler and not of a sink, has written anything.
    const writers = Map.groupBy(
      runs.filter((run) => run.state === state.done && run.payload === null),
      (run) => run.handler_id,
    )
    const keys = new Map<number, readonly string[]>()
    for (const [handlerId, own] of writers) {
      const found = stateKeysOf(handlerId, new Set(own.map(({ id }) => id)), clock.now())
      for (const [runId, stateKeys] of found) keys.set(runId, stateKeys)
    }
    return runs.map((run) => toRunRecord(run, attemptsOf.all(run.id), keys.get(run.id) ?? []))
  }

  return (summary: EventSummary): EventDetail | null => {
    const row = eventBySeq.get(summary.seq)
    if (row === undefined) return null
    return {
      ...summary,
      key: row.key ?? row.id,
      secretLabel: row.secret_label,
      raw: bodyOf.get(row.seq)?.raw ?? Buffer.alloc(0),
      pruned: row.final_status !== null,
      duplicates: redeliveriesOf.get(row.seq)?.count ?? 0,
      conflicts: conflictsOf.get(row.seq)?.count ?? 0,
      storedAt: row.stored_ms === null ? null : row.received_at + row.stored_ms,
      headers: row.headers,
      trace: row.trace,
      runs: runRecords(row.seq),
    }
  }
}

/** Attempts that failed have rows of their own; the one that succeeded is told by the run itself. */
function toRunRecord(run: RunRow, failed: readonly AttemptRow[], stateKeys: readonly string[]): RunRecord {
  const { attempt, started_at: startedAt, ended_at: endedAt, payload, idempotency_key: idempotencyKey } = run
  const attempts: AttemptRecord[] = failed.map((row) => ({
    attempt: row.attempt,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    outcome: row.outcome,
    error: toError(row),
  }))
  if (run.state === state.done && startedAt !== null && endedAt !== null) {
    attempts.push({ attempt, startedAt, endedAt, outcome: 'done', error: null })
  }
  return {
    runId: run.id,
    handler: run.handler,
    state: runStates[run.state] ?? 'done',
    attempt,
    crashed: run.crashed,
    runAt: run.state < state.running ? run.run_at : null,
    replay: run.replay_id === 0 ? null : run.replay_id,
    item: payload === null || idempotencyKey === null ? null : { payload, idempotencyKey },
    // One that was given back was not taken up.
    startedAt: attempt === 0 ? null : startedAt,
    endedAt,
    stateKeys,
    attempts,
  }
}
