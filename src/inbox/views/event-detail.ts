import { sql, type ExpressionBuilder } from 'kysely'
import type { Clock } from '../../base/clock.ts'
import { unknownError } from '../error-group.ts'
import {
  runStates,
  sourceOf,
  versionOf,
  type AttemptRecord,
  type RunError,
  type RunRecord,
  type QueryStore,
} from '../port.ts'
import { partsOfKey } from '../replays.ts'
import { statusOf, toProgress } from '../status.ts'
import { rowsOf, type ErrorColumns, type Tables, type ViewStore } from './tables.ts'

/** Larger states are not searched for the keys of a run: an index by version would slow down every write. */
const maxSearchedState = 10_000
/** Maximum state keys shown per run. */
const maxKeys = 100
const versionsPerRun = versionOf({ runId: 1, token: 0 })

/** The failed attempts of `run`. */
export function attemptsOf(store: ViewStore, eb: ExpressionBuilder<Tables, 'run'>) {
  return eb
    .selectFrom('attempt')
    .whereRef('attempt.run_id', '=', 'run.id')
    .select([
      'attempt.attempt',
      'attempt.started_at as startedAt',
      'attempt.ended_at as endedAt',
      'attempt.outcome',
      'attempt.error_name as errorName',
      'attempt.error_message as errorMessage',
      'attempt.error_stack as errorStack',
      sql<number>`${sql.ref(store.attemptOrder)}`.as('position'),
    ])
}

export function errorOf(row: ErrorColumns | undefined): RunError {
  if (row === undefined || row.errorName === null) return unknownError
  const error = { name: row.errorName, message: row.errorMessage ?? '' }
  return row.errorStack === null ? error : { ...error, stack: row.errorStack }
}

/** The runs of `event`. */
function runsOf(store: ViewStore, eb: ExpressionBuilder<Tables, 'event'>) {
  return eb
    .selectFrom('run')
    .whereRef('run.event_seq', '=', 'event.seq')
    .select((run) => [
      'run.id',
      'run.handler_id as handlerId',
      run.selectFrom('handler').select('handler.name').whereRef('handler.id', '=', 'run.handler_id').as('handler'),
      'run.state',
      'run.run_at as runAt',
      'run.attempt',
      'run.crashed',
      'run.replay_id as replayId',
      'run.started_at as startedAt',
      'run.ended_at as endedAt',
      run.selectFrom('item').select('item.payload').whereRef('item.run_id', '=', 'run.id').as('payload'),
      run.selectFrom('item').select('item.idempotency_key').whereRef('item.run_id', '=', 'run.id').as('idempotencyKey'),
      store.jsonRows(attemptsOf(store, run)).as('attempts'),
    ])
}

type RunRow = Awaited<ReturnType<ReturnType<typeof runsOf>['execute']>>[number]

/** Reads an event and its runs in one statement, so they are consistent. `clock` decides which state entries have expired. */
export function createEventDetail(store: ViewStore, clock: Pick<Clock, 'now'>): Pick<QueryStore, 'event'> {
  const { db } = store

  /** State keys whose current value these runs wrote. The version of an entry contains the run id. Empty for a large state. */
  async function stateKeysOf(handlerId: number, runIds: readonly number[]): Promise<Map<number, readonly string[]>> {
    const rows = await db
      .with(
        (cte) => cte('first').materialized(),
        (of) =>
          of
            .selectFrom('state')
            .select((eb) => ['key', 'expires_at', sql<number>`version / ${eb.lit(versionsPerRun)}`.as('runId')])
            .where('handler_id', '=', handlerId)
            .orderBy('key')
            .limit(maxSearchedState + 1),
      )
      .selectFrom('first')
      .select(['runId', 'key'])
      .where('runId', 'in', runIds)
      .where((eb) => eb.or([eb('expires_at', 'is', null), eb('expires_at', '>', clock.now())]))
      .where((eb) => eb.selectFrom('first').select(eb.fn.countAll<number>().as('count')), '<=', maxSearchedState)
      .orderBy('key')
      .execute()
    const byRun = Map.groupBy(rows, ({ runId }) => runId)
    return new Map([...byRun].map(([runId, entries]) => [runId, entries.slice(0, maxKeys).map(({ key }) => key)]))
  }

  async function toRecords(rows: readonly RunRow[]): Promise<RunRecord[]> {
    // Only completed runs of handlers (not sinks) write state.
    const writers = Map.groupBy(
      rows.filter((run) => runStates[run.state] === 'done' && run.payload === null),
      (run) => run.handlerId,
    )
    const keys = new Map<number, readonly string[]>()
    for (const [handlerId, ofHandler] of writers) {
      const keysByRun = await stateKeysOf(
        handlerId,
        ofHandler.map(({ id }) => id),
      )
      for (const [runId, stateKeys] of keysByRun) keys.set(runId, stateKeys)
    }
    return rows.map((run) => toRunRecord(run, keys.get(run.id) ?? []))
  }

  return {
    async event(id) {
      const row = await db
        .selectFrom('event')
        .where('event.id', '=', id)
        // Each lookup is a subquery: PostgreSQL might read a whole table for a join.
        .select((eb) => [
          'event.seq',
          'event.id',
          'event.type',
          'event.created_at as createdAt',
          'event.received_at as receivedAt',
          'event.key',
          'event.secret_label as secretLabel',
          'event.stored_ms as storedMs',
          'event.trace',
          'event.final_status as finalStatus',
          eb.selectFrom('body').select('body.raw').whereRef('body.seq', '=', 'event.seq').as('raw'),
          eb
            .selectFrom('header_set')
            .select('header_set.headers')
            .whereRef('header_set.id', '=', 'event.header_set')
            .as('headers'),
          eb
            .selectFrom('redelivery')
            .select('redelivery.count')
            .whereRef('redelivery.event_seq', '=', 'event.seq')
            .as('duplicates'),
          eb
            .selectFrom('conflict')
            .select((of) => of.fn.sum<number>('conflict.count').as('count'))
            .whereRef('conflict.event_seq', '=', 'event.seq')
            .as('conflicts'),
          store.jsonRows(runsOf(store, eb)).as('runs'),
        ])
        .executeTakeFirst()
      if (row === undefined) return null
      const runs = rowsOf(row.runs).toSorted((a, b) => a.id - b.id)
      const { seq, type, createdAt, receivedAt, secretLabel, headers, trace, finalStatus, storedMs } = row
      return {
        seq,
        id: row.id,
        source: sourceOf({ secretLabel }),
        type,
        createdAt,
        receivedAt,
        ...partsOfKey(row.key),
        status: statusOf(finalStatus, runs),
        key: row.key ?? row.id,
        secretLabel,
        raw: row.raw ?? Buffer.alloc(0),
        pruned: finalStatus !== null,
        duplicates: row.duplicates ?? 0,
        conflicts: row.conflicts ?? 0,
        storedAt: storedMs === null ? null : receivedAt + storedMs,
        headers,
        trace,
        runs: await toRecords(runs),
      }
    },
  }
}

/** Failed attempts have rows in `attempt`. The successful attempt is stored in the run. */
function toRunRecord(run: RunRow, stateKeys: readonly string[]): RunRecord {
  const { attempt, startedAt, endedAt, payload, idempotencyKey } = run
  const attempts = rowsOf(run.attempts)
    .toSorted((a, b) => a.position - b.position)
    .map((row): AttemptRecord => ({
      attempt: row.attempt,
      startedAt: row.startedAt,
      endedAt: row.endedAt,
      outcome: row.outcome,
      error: errorOf(row),
    }))
  const { state, replay } = toProgress(run)
  if (state === 'done' && startedAt !== null && endedAt !== null) {
    attempts.push({ attempt, startedAt, endedAt, outcome: 'done', error: null })
  }
  return {
    runId: run.id,
    handler: run.handler ?? '',
    state,
    attempt,
    crashed: run.crashed,
    runAt: run.state < runStates.indexOf('running') ? run.runAt : null,
    replay,
    item: payload === null || idempotencyKey === null ? null : { payload, idempotencyKey },
    // A run that was released unstarted has no attempt.
    startedAt: attempt === 0 ? null : startedAt,
    endedAt,
    stateKeys,
    attempts,
  }
}
