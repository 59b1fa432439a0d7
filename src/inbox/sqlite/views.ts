import type { Database } from 'better-sqlite3'
import { decodeCursor, decodeCursorPair, encodeCursor } from '../cursor.ts'
import {
  eventStatuses,
  listedBytes,
  replayStates,
  runStates,
  type AttemptRecord,
  type AuditRecord,
  type DeadLetter,
  type EventDetail,
  type EventQuery,
  type EventStatus,
  type EventSummary,
  type GapRecord,
  type HandlerStats,
  type InboxStats,
  type Page,
  type PageQuery,
  type QuarantinedBody,
  type ReplayFilter,
  type ReplayRecord,
  type RunError,
  type RunRecord,
  type Subscription,
  type ViewPort,
} from '../port.ts'
import { matchesFilter, partsOfKey } from '../replay-filter.ts'
import { createMatcher } from '../routes.ts'
import type { Acts } from './acts.ts'
import type { CountPart, ReplayCount } from './count-replay.ts'
import { statusOfRuns, type ProgressRow } from './progress.ts'
import { state, statementTexts, type ReplayRow, type SubscriptionRow } from './statements.ts'
import { toSubscription } from './subscriptions.ts'

/** The read side of the store, synchronous, over its own read-only connection. */
export type SqliteViews = {
  [M in Exclude<keyof ViewPort, Act | 'countReplay'>]: (
    ...args: Parameters<ViewPort[M]>
  ) => Awaited<ReturnType<ViewPort[M]>>
} & {
  readonly subscription: () => Subscription | null
  /** The record of a replay that was just started. */
  readonly replayStarted: (id: number) => ReplayRecord
  readonly countReplay: (part: CountPart) => ReplayCount
}

/** What changes something is not answered here. */
type Act = keyof Acts | 'startReplay' | 'cancelReplay'

interface EventRow {
  seq: number
  id: string
  type: string
  created_at: string
  received_at: number
  key: string | null
  secret_label: string
  final_status: number | null
}

interface RunRow {
  id: number
  handler: string
  state: number
  run_at: number
  attempt: number
  crashed: number
  replay_id: number
  started_at: number | null
  ended_at: number | null
}

interface DeadRow {
  id: number
  event_id: string
  type: string
  handler: string
  attempt: number
  crashed: number
  ended_at: number
  state: number
}

interface AttemptRow {
  attempt: number
  started_at: number
  ended_at: number
  outcome: 'retry' | 'dead' | 'crashed' | 'dropped'
  error_name: string
  error_message: string
  error_stack: string | null
}

interface QuarantineRow {
  seq: number
  id: string
  reason: string
  received_at: number
  secret_label: string
  count: number
  size: number
  raw: Buffer
}

/** A page looks at so many events at the most; where filters match few of them it comes back short, with a cursor. */
const maxScannedPerPage = 20_000

type HandlerRow = Pick<HandlerStats, 'concurrency' | 'superseded' | 'backfillSeq'> & { name: string; paused: number }

const noRuns = { waiting: 0, ready: 0, suspect: 0, running: 0, held: 0, dead: 0 }
const mostGaps = 20
const eventColumns = 'seq, id, type, created_at, received_at, key, secret_label, final_status'

export function createViews(db: Database): SqliteViews {
  const newestSeq = db.prepare<[], { seq: number }>('SELECT seq FROM event ORDER BY seq DESC LIMIT 1')
  const eventsBelow = db.prepare<[number, number], EventRow>(
    `SELECT ${eventColumns} FROM event WHERE seq < ? AND seq >= ? ORDER BY seq DESC`,
  )
  const eventById = db.prepare<[string], EventRow>(`SELECT ${eventColumns} FROM event INDEXED BY event_id WHERE id = ?`)
  const bodyOf = db.prepare<[number], { raw: Buffer }>('SELECT raw FROM body WHERE seq = ?')
  const progressOf = db.prepare<[number], ProgressRow>(
    'SELECT state, attempt, replay_id AS replayId FROM run INDEXED BY run_event WHERE event_seq = ?',
  )
  const runsOf = db.prepare<[number], RunRow>(
    `SELECT r.id, h.name AS handler, r.state, r.run_at, r.attempt, r.crashed, r.replay_id, r.started_at, r.ended_at
     FROM run r INDEXED BY run_event JOIN handler h ON h.id = r.handler_id WHERE r.event_seq = ? ORDER BY r.id`,
  )
  const attemptsOf = db.prepare<[number], AttemptRow>(
    `SELECT attempt, started_at, ended_at, outcome, error_name, error_message, error_stack
     FROM attempt INDEXED BY attempt_run WHERE run_id = ? ORDER BY rowid`,
  )
  const redeliveriesOf = db.prepare<[number], { count: number }>('SELECT count FROM redelivery WHERE event_seq = ?')
  const conflictsOf = db.prepare<[number], { count: number | null }>(
    'SELECT sum(count) AS count FROM conflict WHERE event_seq = ?',
  )
  const deadColumns = 'r.id, e.id AS event_id, e.type, h.name AS handler, r.attempt, r.crashed, r.ended_at, r.state'
  const deadBefore = db.prepare<[number, number, number], DeadRow>(
    `SELECT ${deadColumns}
     FROM run r INDEXED BY run_died CROSS JOIN event e ON e.seq = r.event_seq CROSS JOIN handler h ON h.id = r.handler_id
     WHERE r.state >= 4 AND r.state <= 5 AND (r.ended_at, r.id) < (?, ?) ORDER BY r.ended_at DESC, r.id DESC LIMIT ?`,
  )
  const deadById = db.prepare<[number], DeadRow>(
    `SELECT ${deadColumns} FROM run r JOIN event e ON e.seq = r.event_seq JOIN handler h ON h.id = r.handler_id
     WHERE r.id = ? AND r.state >= ${state.held} AND r.state <= ${state.dead}`,
  )
  const lastAttemptOf = db.prepare<[number], AttemptRow>(
    `SELECT attempt, started_at, ended_at, outcome, error_name, error_message, error_stack
     FROM attempt INDEXED BY attempt_run WHERE run_id = ? ORDER BY rowid DESC LIMIT 1`,
  )
  const quarantineBelow = db.prepare<[number, number], QuarantineRow>(
    `SELECT seq, id, reason, received_at, secret_label, count, length(raw) AS size,
       iif(length(raw) > ${listedBytes}, substr(raw, 1, ${listedBytes}), raw) AS raw
     FROM quarantine WHERE seq < ? ORDER BY seq DESC LIMIT ?`,
  )
  const quarantineById = db.prepare<[string], QuarantineRow>(
    `SELECT seq, id, reason, received_at, secret_label, count, length(raw) AS size, raw FROM quarantine WHERE id = ?`,
  )
  const openCounts = db.prepare<[], { state: number; handler: string; count: number; oldest: number }>(
    `SELECT r.state, h.name AS handler, r.count, r.oldest FROM (
       SELECT state, handler_id, count(*) AS count, min(id) AS oldest
       FROM run INDEXED BY run_open WHERE state < 5 AND state < ${state.held} GROUP BY state, handler_id
     ) r JOIN handler h ON h.id = r.handler_id`,
  )
  const deadCounts = db.prepare<[], { state: number; handler: string; count: number }>(
    `SELECT r.state, h.name AS handler, r.count FROM (
       SELECT state, handler_id, count(*) AS count FROM run INDEXED BY run_dead
       WHERE state >= 4 AND state <= 5 GROUP BY state, handler_id
     ) r JOIN handler h ON h.id = r.handler_id`,
  )
  const receivedAtOfRun = db.prepare<[number], { received_at: number }>(
    'SELECT e.received_at FROM run r JOIN event e ON e.seq = r.event_seq WHERE r.id = ?',
  )
  const handlers = db.prepare<[], HandlerRow>(
    'SELECT name, paused, concurrency, superseded, backfill_seq AS backfillSeq FROM handler ORDER BY name',
  )
  const quarantinedCount = db.prepare<[], { count: number }>('SELECT count(*) AS count FROM quarantine')
  const conflictCount = db.prepare<[], { count: number }>(
    'SELECT count(*) AS count FROM conflict INDEXED BY conflict_at',
  )
  const hasBody = db.prepare<[number], { found: number }>('SELECT 1 AS found FROM body WHERE seq = ?')
  const eventsFrom = db.prepare<[number, number], EventRow>(
    `SELECT ${eventColumns} FROM event WHERE seq >= ? ORDER BY seq LIMIT ?`,
  )
  const lastGaps = db.prepare<[number], Omit<GapRecord, 'lost'> & { lostFrom: number | null; lostTo: number | null }>(
    `SELECT from_at AS "from", to_at AS "to", kind, retried_until AS retriedUntil, lost_from AS lostFrom, lost_to AS lostTo,
       arrived, arrived_lost AS arrivedLost, last_arrival_at AS lastArrivalAt, acknowledged_at AS acknowledgedAt
     FROM gap WHERE id > (SELECT max(id) FROM gap) - ? OR (lost_to IS NOT NULL AND acknowledged_at IS NULL) ORDER BY id DESC`,
  )
  const pages = (name: string) => Number(db.pragma(name, { simple: true }))
  const newestSubscription = db.prepare<[], SubscriptionRow>(statementTexts.newestSubscription)
  const auditBelow = db.prepare<
    [number, number],
    { id: number; at: number; action: AuditRecord['action']; detail: string }
  >('SELECT id, at, action, detail FROM audit WHERE id < ? ORDER BY id DESC LIMIT ?')
  const replayFields = `id, filter, per_second AS perSecond, new_keys AS newKeys, state, created_at AS createdAt,
     ended_at AS endedAt, next_seq AS nextSeq, last_seq AS lastSeq, events, runs, skipped`
  const replaysBelow = db.prepare<[number, number], ReplayRow>(
    `SELECT ${replayFields} FROM replay WHERE id < ? ORDER BY id DESC LIMIT ?`,
  )
  const openOfReplay = db.prepare<[number], { count: number }>(
    `SELECT count(*) AS count FROM run INDEXED BY run_open
     WHERE handler_id IN (SELECT id FROM handler) AND replay_id = ? AND state < 5 AND state < ${state.held}`,
  )
  const meta = db.prepare<[string], { value: number }>('SELECT value FROM meta WHERE name = ?')

  /** Of an event that was pruned it is written there; else it follows from its runs. */
  function statusOf({ seq, final_status: final }: Pick<EventRow, 'seq' | 'final_status'>): EventStatus {
    if (final !== null) return eventStatuses[final] ?? 'done'
    return statusOfRuns(progressOf.all(seq))
  }

  function events(query: EventQuery): Page<EventSummary> {
    const newest = newestSeq.get()?.seq ?? 0
    const below = query.cursor === undefined ? newest + 1 : decodeCursor(query.cursor)
    const lowest = Math.max(1, below - maxScannedPerPage)
    const found: EventSummary[] = []
    let last = lowest
    for (const row of eventsBelow.iterate(below, lowest)) {
      last = row.seq
      const summary = matching(row, query)
      if (summary !== null) found.push(summary)
      if (found.length === query.limit) break
    }
    return { data: found, nextCursor: last > 1 && below > 1 ? encodeCursor(last) : null }
  }

  function matching(row: EventRow, query: EventQuery): EventSummary | null {
    const { network, address } = partsOfKey(row.key)
    if (query.type !== undefined && row.type !== query.type) return null
    if (query.network !== undefined && network !== query.network) return null
    if (query.address !== undefined && address !== query.address) return null
    if (query.from !== undefined && row.received_at < query.from) return null
    if (query.to !== undefined && row.received_at >= query.to) return null
    const status = statusOf(row)
    if (query.status !== undefined && status !== query.status) return null
    return toSummary(row, status)
  }

  function event(id: string): EventDetail | null {
    const row = eventById.get(id)
    if (row === undefined) return null
    const raw = bodyOf.get(row.seq)?.raw ?? Buffer.alloc(0)
    return {
      ...toSummary(row, statusOf(row)),
      key: row.key ?? row.id,
      secretLabel: row.secret_label,
      raw,
      pruned: row.final_status !== null,
      duplicates: redeliveriesOf.get(row.seq)?.count ?? 0,
      conflicts: conflictsOf.get(row.seq)?.count ?? 0,
      runs: runsOf.all(row.seq).map((run) => toRunRecord(run, attemptsOf.all(run.id))),
    }
  }

  function deadLetters(query: PageQuery): Page<DeadLetter> {
    const [at, below] = query.cursor === undefined ? [Number.MAX_SAFE_INTEGER, 0] : decodeCursorPair(query.cursor)
    const rows = deadBefore.all(at, below, query.limit + 1)
    const data = rows.slice(0, query.limit).map(toDeadLetter)
    const last = rows.length > query.limit ? data.at(-1) : undefined
    return { data, nextCursor: last === undefined ? null : encodeCursor(last.diedAt, last.runId) }
  }

  function deadLetter(runId: number): DeadLetter | null {
    const row = deadById.get(runId)
    return row === undefined ? null : toDeadLetter(row)
  }

  function toDeadLetter(row: DeadRow): DeadLetter {
    const attempt = lastAttemptOf.get(row.id)
    return {
      runId: row.id,
      eventId: row.event_id,
      type: row.type,
      handler: row.handler,
      attempt: row.attempt,
      crashed: row.crashed,
      diedAt: row.ended_at,
      held: row.state === state.held,
      error: attempt ? toError(attempt) : { name: 'unknown', message: 'no error was recorded' },
    }
  }

  function audit(query: PageQuery): Page<AuditRecord> {
    const below = query.cursor === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor(query.cursor)
    const rows = auditBelow.all(below, query.limit + 1)
    const data = rows.slice(0, query.limit).map(({ id, at, action, detail }): AuditRecord => {
      return { id, at, action, detail: JSON.parse(detail) as AuditRecord['detail'] }
    })
    return page(data, rows.length > query.limit ? data.at(-1)?.id : undefined)
  }

  function quarantine(query: PageQuery): Page<QuarantinedBody> {
    const below = query.cursor === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor(query.cursor)
    const rows = quarantineBelow.all(below, query.limit + 1)
    const shown = rows.slice(0, query.limit)
    return page(shown.map(toQuarantinedBody), rows.length > query.limit ? shown.at(-1)?.seq : undefined)
  }

  function quarantined(id: string): QuarantinedBody | null {
    const row = quarantineById.get(id)
    return row === undefined ? null : toQuarantinedBody(row)
  }

  function gaps(): GapRecord[] {
    return lastGaps.all(mostGaps).map(({ lostFrom, lostTo, ...gap }) => {
      return { ...gap, lost: lostFrom === null || lostTo === null ? null : { from: lostFrom, to: lostTo } }
    })
  }

  function replays(query: PageQuery): Page<ReplayRecord> {
    const below = query.cursor === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor(query.cursor)
    const rows = replaysBelow.all(below, query.limit + 1)
    const data = rows.slice(0, query.limit).map(toReplay)
    return page(data, rows.length > query.limit ? data.at(-1)?.id : undefined)
  }

  function replay(id: number): ReplayRecord | null {
    const [row] = replaysBelow.all(id + 1, 1)
    return row?.id === id ? toReplay(row) : null
  }

  function replayStarted(id: number): ReplayRecord {
    const record = replay(id)
    if (record === null) throw new Error(`replay ${id} is not there`)
    return record
  }

  function toReplay({ nextSeq, newKeys, state: code, filter, ...row }: ReplayRow): ReplayRecord {
    return {
      ...row,
      filter: JSON.parse(filter) as ReplayFilter,
      newKeys: newKeys === 1,
      state: replayStates[code] ?? 'done',
      scannedSeq: Math.min(nextSeq - 1, row.lastSeq),
      openRuns: openOfReplay.get(row.id)?.count ?? 0,
    }
  }

  function unknownIds(ids: readonly string[]): string[] {
    return ids.filter((id) => eventById.get(id) === undefined)
  }

  /** Counts in one part of the accept sequence, so that other views have their turn between the parts. */
  function countReplay({ filter, patterns, fromSeq }: CountPart): ReplayCount {
    const rows =
      filter.ids === undefined
        ? eventsFrom.all(fromSeq, maxScannedPerPage)
        : [...new Set(filter.ids)].flatMap((id) => eventById.get(id) ?? [])
    const isTaken = createMatcher(patterns)
    const found = rows.filter((row) => {
      const { id, type, received_at: receivedAt, key } = row
      return (
        isTaken(type) &&
        matchesFilter(filter, { id, type, receivedAt, ...partsOfKey(key), status: () => statusOf(row) })
      )
    })
    const last = filter.ids === undefined ? rows.at(-1)?.seq : undefined
    return {
      events: found.length,
      skipped: found.filter(({ seq }) => hasBody.get(seq) === undefined).length,
      nextSeq: last === undefined ? null : last + 1,
    }
  }

  function stats(): InboxStats {
    const byHandler = new Map<string, HandlerStats>(
      handlers
        .all()
        .map(({ name, paused, ...row }) => [name, { handler: name, paused: paused === 1, ...row, ...noRuns }]),
    )
    const add = (handler: string, change: Partial<HandlerStats>) => {
      const known = byHandler.get(handler)
      if (known) byHandler.set(handler, { ...known, ...change })
    }
    let oldestRun = Infinity
    for (const row of openCounts.all()) {
      oldestRun = Math.min(oldestRun, row.oldest)
      const name = runStates[row.state]
      if (name !== undefined) add(row.handler, { [name]: row.count })
    }
    for (const row of deadCounts.all()) add(row.handler, { [row.state === state.held ? 'held' : 'dead']: row.count })
    return {
      lastSeq: newestSeq.get()?.seq ?? 0,
      quarantined: quarantinedCount.get()?.count ?? 0,
      conflicts: conflictCount.get()?.count ?? 0,
      paused: meta.get('paused')?.value === 1,
      handlers: [...byHandler.values()],
      oldestOpenAt: oldestRun === Infinity ? null : (receivedAtOfRun.get(oldestRun)?.received_at ?? null),
      sizeBytes: (pages('page_count') - pages('freelist_count')) * pages('page_size'),
      missingSeqs: meta.get('missing_seqs')?.value ?? 0,
    }
  }

  return {
    events,
    event,
    deadLetters,
    deadLetter,
    gaps,
    subscription: () => toSubscription(newestSubscription.get()),
    audit,
    replays,
    replay,
    replayStarted,
    unknownIds,
    countReplay,
    quarantine,
    quarantined,
    stats,
  }
}

function page<T>(data: readonly T[], last: number | undefined): Page<T> {
  return { data, nextCursor: last === undefined ? null : encodeCursor(last) }
}

function toSummary(row: EventRow, status: EventSummary['status']): EventSummary {
  return {
    seq: row.seq,
    id: row.id,
    type: row.type,
    createdAt: row.created_at,
    receivedAt: row.received_at,
    ...partsOfKey(row.key),
    status,
  }
}

function toQuarantinedBody(row: QuarantineRow): QuarantinedBody {
  const { id, reason, received_at: receivedAt, secret_label: secretLabel, size: sizeBytes, count, raw } = row
  return { id, reason, receivedAt, secretLabel, sizeBytes, count, raw }
}

function toError(row: AttemptRow): RunError {
  const error = { name: row.error_name, message: row.error_message }
  return row.error_stack === null ? error : { ...error, stack: row.error_stack }
}

/** Attempts that failed have rows of their own; the one that succeeded is told by the run itself. */
function toRunRecord(run: RunRow, failed: readonly AttemptRow[]): RunRecord {
  const attempts: AttemptRecord[] = failed.map((row) => ({
    attempt: row.attempt,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    outcome: row.outcome,
    error: toError(row),
  }))
  if (run.state === state.done && run.started_at !== null && run.ended_at !== null) {
    const { attempt, started_at: startedAt, ended_at: endedAt } = run
    attempts.push({ attempt, startedAt, endedAt, outcome: 'done', error: null })
  }
  return {
    runId: run.id,
    handler: run.handler,
    state: runStates[run.state] ?? 'done',
    attempt: run.attempt,
    crashed: run.crashed,
    runAt: run.state < state.running ? run.run_at : null,
    replay: run.replay_id === 0 ? null : run.replay_id,
    attempts,
  }
}
