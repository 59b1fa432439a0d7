import type { Database } from 'better-sqlite3'
import type { StoredBody } from '../choose-bodies.ts'
import type { Span } from '../../base/retry-schedule.ts'
import type { Gap } from '../gap-watch.ts'
import { minReadyRuns } from '../jobs.ts'
import type { LeaseRow } from '../lease-row.ts'
import type { Lease, ReplayRecord, SourceKey, StateEntry, StoredEvent } from '../port.ts'
import type { ReplayRow as StoredReplay, ScannedEvent } from '../replays.ts'
import { isClaimable, isDeadLetter, isOpen, replayState, runState as state } from '../run-sql.ts'
import type { ProgressRow } from '../status.ts'
import type { LeaseEntry, RunQueue } from './leases.ts'

/*
 * All statements of the writer, grouped by what they are for. Each is prepared once, at the start. Parameters are positional, in the order
 * of the text: named ones are slower.
 *
 * A statement on `event` or `run` that isn't a lookup by its row number names its index, because the planner has chosen one that reads the
 * whole backlog; a test checks every plan. These are the indexes of runs:
 *
 *   run_open       (handler_id, replay_id, key, id) of open runs: the order of the runs of a key
 *   run_claimable  (state, handler_id, replay_id, run_at, id) of ready and suspect runs: the order of claims
 *   run_dead       (id) of dead letters
 *   run_event      (event_seq) of all runs
 */

type Parameter = string | number | null | Uint8Array

/** A statement that changes rows. */
interface Write {
  run(...parameters: Parameter[]): { readonly changes: number; readonly lastInsertRowid: number | bigint }
}

/** A statement that returns rows. */
interface Read<R> {
  get(...parameters: Parameter[]): R | undefined
  all(...parameters: Parameter[]): R[]
}

/** SQL text, tagged with the type of its prepared statement. */
type Text<S> = string & { readonly type?: S }

const write = (text: string): Text<Write> => text
const read = <R>(text: string): Text<Read<R>> => text

/** New events, repeated deliveries and quarantine. */
const accepting = {
  insertEvent: write(
    `INSERT INTO event (seq, id, type, created_at, received_at, key, secret_label, stored_ms, header_set, trace, stable_digest)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
  ),
  insertBody: write(`INSERT INTO body (seq, total, raw) VALUES (?, ?, ?)`),
  lastBody: read<{ total: number }>(`SELECT total FROM body ORDER BY seq DESC LIMIT 1`),
  bodyOf: read<{ seq: number; stableDigest: string | null; raw: Buffer | null }>(
    `SELECT e.seq, e.stable_digest AS stableDigest, b.raw FROM event e INDEXED BY event_id LEFT JOIN body b ON b.seq = e.seq WHERE e.id = ?`,
  ),
  headerSets: read<{ id: number; headers: string }>(`SELECT id, headers FROM header_set`),
  insertHeaderSet: write(`INSERT INTO header_set (headers) VALUES (?)`),
  setHeaderSet: write(`UPDATE event SET header_set = ? WHERE seq = ?`),
  countRedelivery: write(
    `INSERT INTO redelivery (event_seq, count, last_at) VALUES (?, 1, ?)
     ON CONFLICT (event_seq) DO UPDATE SET count = count + 1, last_at = excluded.last_at`,
  ),
  countConflict: write(
    `INSERT INTO conflict (event_seq, digest, received_at, count, raw)
     VALUES ((SELECT seq FROM event INDEXED BY event_id WHERE id = ?), ?, ?, 1, ?)
     ON CONFLICT (event_seq, digest) DO UPDATE SET count = count + 1`,
  ),
  insertQuarantined: write(
    `INSERT INTO quarantine (id, reason, received_at, secret_label, count, total, raw)
     VALUES (?, ?, ?, ?, 1, ?, ?) ON CONFLICT (id) DO UPDATE SET count = count + 1`,
  ),
  lastQuarantined: read<{ total: number }>(`SELECT total FROM quarantine ORDER BY seq DESC LIMIT 1`),
  deleteQuarantined: write(`DELETE FROM quarantine WHERE id = ?`),
}

/** Counts of new events. See `createTallies`. */
const tallies = {
  addTally: write(
    `INSERT INTO tally (minute, type, network, count) VALUES (?, ?, ?, ?)
     ON CONFLICT (minute, type, network) DO UPDATE SET count = count + excluded.count`,
  ),
  addHour: write(
    `INSERT INTO hour (hour, first_seq, last_seq) VALUES (?, ?, ?)
     ON CONFLICT (hour) DO UPDATE SET last_seq = excluded.last_seq`,
  ),
  addSecretUse: write(
    `INSERT INTO secret_use (label, first_at, last_at, count) VALUES (?, ?, ?, ?)
     ON CONFLICT (label) DO UPDATE SET last_at = max(last_at, excluded.last_at), count = count + excluded.count`,
  ),
  pruneTallies: write(`DELETE FROM tally WHERE minute < min(?, (SELECT min(minute) FROM tally) + ?)`),
}

/** A claimable run with all that its lease needs. */
type ClaimRow = LeaseRow &
  Pick<Lease, 'runId' | 'token' | 'attempt' | 'failed' | 'crashed' | 'key'> &
  Pick<StoredEvent, 'seq'>

const queueColumns = 'handler_id AS handlerId, replay_id AS replayId, key'

/** Runs that are created, searched or claimed. */
const claiming = {
  insertRun: write(
    `INSERT INTO run (id, event_seq, handler_id, replay_id, key, state, run_at, attempt, failed, crashed, token, started_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?)`,
  ),
  insertItem: write(`INSERT INTO item (run_id, payload, idempotency_key) VALUES (?, ?, ?)`),
  /** Oldest open runs of a key. */
  openOfKey: read<{ id: number; state: number }>(
    `SELECT id, state FROM run INDEXED BY run_open
     WHERE handler_id = ? AND replay_id = ? AND key = ? AND ${isOpen()} ORDER BY id LIMIT ?`,
  ),
  newestOfKey: read<{ id: number }>(
    `SELECT id FROM run INDEXED BY run_open
     WHERE handler_id = ? AND replay_id = ? AND key = ? AND ${isOpen()} ORDER BY id DESC LIMIT 1`,
  ),
  claimable: read<ClaimRow>(
    `SELECT r.id AS runId, r.token, r.attempt, r.failed, r.crashed, r.key, e.seq, e.id, e.type, e.created_at AS createdAt, e.received_at AS receivedAt, e.key AS eventKey,
       e.secret_label AS secretLabel, e.trace, b.raw, i.payload, i.idempotency_key AS idempotencyKey
     FROM run r INDEXED BY run_claimable
     LEFT JOIN event e ON e.seq = r.event_seq LEFT JOIN body b ON b.seq = e.seq LEFT JOIN item i ON i.run_id = r.id
     WHERE r.state = ? AND ${isClaimable('r.')} AND r.handler_id = ? AND r.replay_id = ? AND r.run_at <= ?
     ORDER BY r.run_at, r.id LIMIT ?`,
  ),
  nextDue: read<{ dueAt: number }>(
    `SELECT run_at AS dueAt FROM run INDEXED BY run_claimable
     WHERE state = ? AND ${isClaimable()} AND handler_id = ? AND replay_id = ? ORDER BY run_at LIMIT 1`,
  ),
  /** The next replay of a handler with claimable runs. Replay 0 is the live runs. */
  nextReplay: read<{ replayId: number }>(
    `SELECT replay_id AS replayId FROM run INDEXED BY run_claimable
     WHERE state = ? AND ${isClaimable()} AND handler_id = ? AND replay_id > ? ORDER BY replay_id LIMIT 1`,
  ),
  claimRun: write(
    `UPDATE run SET state = ${state.running}, token = token + 1, attempt = attempt + 1, started_at = ? WHERE id = ?`,
  ),
  readyRun: write(`UPDATE run SET state = ${state.ready} WHERE id = ?`),
  /** Makes open runs due earlier, after the clock was set back. Parameter: milliseconds. */
  shiftOpenRuns: write(`UPDATE run INDEXED BY run_open SET run_at = run_at - ? WHERE ${isOpen()}`),
  claimableCount: read<{ count: number }>(
    `SELECT count(*) AS count FROM run INDEXED BY run_claimable WHERE ${isClaimable()}`,
  ),
  heldCount: read<{ count: number }>(
    `SELECT count(*) AS count FROM run INDEXED BY run_dead WHERE ${isDeadLetter()} AND state = ${state.held}`,
  ),
  maxRunId: read<{ id: number }>(`SELECT id FROM run ORDER BY id DESC LIMIT 1`),
}

/** Leases that end. `uncharged` is 1 if the attempt doesn't count, else 0. */
const ending = {
  finishRun: write(`UPDATE run SET state = ${state.done}, crashed = 0, started_at = ?, ended_at = ? WHERE id = ?`),
  /** Parameters: failed attempts to add, uncharged, due time, id. */
  postponeRun: write(
    `UPDATE run SET state = ${state.ready}, failed = failed + ?, attempt = attempt - ?, crashed = 0, run_at = ? WHERE id = ?`,
  ),
  /** Ends a run without a verdict of its handler. Parameters: state, uncharged, time, id. */
  endRun: write(`UPDATE run SET state = ?, attempt = attempt - ?, crashed = 0, ended_at = ? WHERE id = ?`),
  /** Parameters: held or dead, crashes, start, end, error group, id. */
  makeDeadLetter: write(
    `UPDATE run SET state = ?, crashed = ?, started_at = ?, ended_at = ?, error_group = ? WHERE id = ?`,
  ),
  releaseRun: write(`UPDATE run SET state = ?, attempt = attempt - 1 WHERE id = ?`),
  /** A repeated suspect goes behind the others. */
  suspectRun: write(
    `UPDATE run SET state = ${state.suspect}, crashed = ?, run_at = CASE WHEN crashed > 0 THEN ? ELSE run_at END WHERE id = ?`,
  ),
  requeueRun: write(
    `UPDATE run SET state = ?, run_at = ?, attempt = 0, failed = 0, crashed = 0, ended_at = NULL WHERE id = ?`,
  ),
  insertAttempt: write(
    `INSERT INTO attempt (run_id, attempt, started_at, ended_at, outcome, error_name, error_message, error_stack)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  ),
  countSuperseded: write(`UPDATE handler SET superseded = superseded + ? WHERE id = ?`),
  isItem: read<{ found: number }>(`SELECT 1 AS found FROM item WHERE run_id = ?`),
  startOf: read<{ startedAt: number | null }>(`SELECT started_at AS startedAt FROM run WHERE id = ?`),
  running: read<RunQueue & Pick<LeaseEntry, 'runId' | 'attempt' | 'crashed'>>(
    `SELECT id AS runId, ${queueColumns}, attempt, crashed FROM run INDEXED BY run_open WHERE state = ${state.running} AND ${isOpen()}`,
  ),
  eventIdOf: read<{ id: string }>(`SELECT id FROM event WHERE seq = (SELECT event_seq FROM run WHERE id = ?)`),
  runOf: read<RunQueue & { readonly state: number; readonly attempt: number }>(
    `SELECT ${queueColumns}, state, attempt FROM run WHERE id = ?`,
  ),
  deadAfter: read<{ id: number }>(
    `SELECT id FROM run INDEXED BY run_dead WHERE ${isDeadLetter()} AND id > ? ORDER BY id LIMIT ?`,
  ),
  openOfHandler: read<{ id: number }>(
    `SELECT id FROM run INDEXED BY run_open WHERE handler_id = ? AND ${isOpen()} AND state <> ${state.running} LIMIT ?`,
  ),
}

/** `ctx.state` of handlers. Expired entries count as absent. */
const handlerState = {
  stateOf: read<StateEntry>(
    `SELECT key, value, version, expires_at AS expiresAt FROM state
     WHERE handler_id = ? AND key = ? AND (expires_at IS NULL OR expires_at > ?)`,
  ),
  stateBetween: read<StateEntry>(
    `SELECT key, value, version, expires_at AS expiresAt FROM state
     WHERE handler_id = ? AND key >= ? AND key < ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY key LIMIT ?`,
  ),
  putState: write(
    `INSERT INTO state (handler_id, key, value, version, expires_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (handler_id, key) DO UPDATE
     SET value = excluded.value, version = excluded.version, expires_at = excluded.expires_at`,
  ),
  deleteState: write(`DELETE FROM state WHERE handler_id = ? AND key = ?`),
  expiredState: read<{ handlerId: number; key: string }>(
    `SELECT handler_id AS handlerId, key FROM state INDEXED BY state_expiry
     WHERE expires_at IS NOT NULL AND expires_at <= ? ORDER BY expires_at LIMIT ?`,
  ),
}

interface HandlerRow {
  readonly id: number
  readonly name: string
  readonly paused: number
  readonly holds: number
  /** Null: no backfill in progress. */
  readonly backfillSeq: number | null
}

const handlers = {
  handlers: read<HandlerRow>(`SELECT id, name, paused, holds, backfill_seq AS backfillSeq FROM handler`),
  insertHandler: write(`INSERT INTO handler (name, paused, holds, superseded) VALUES (?, 0, 0, 0)`),
  pauseHandler: write(`UPDATE handler SET paused = ? WHERE id = ?`),
  setHolds: write(`UPDATE handler SET holds = ? WHERE id = ?`),
  setConcurrency: write(`UPDATE handler SET concurrency = ? WHERE id = ?`),
  concurrencies: read<{ name: string; concurrency: number }>(
    `SELECT name, concurrency FROM handler WHERE concurrency IS NOT NULL`,
  ),
  startBackfill: write(`UPDATE handler SET backfill_seq = 1, backfill_from = ? WHERE id = ?`),
  backfill: read<{ nextSeq: number | null; receivedFrom: number }>(
    `SELECT backfill_seq AS nextSeq, backfill_from AS receivedFrom FROM handler WHERE id = ?`,
  ),
  advanceBackfill: write(`UPDATE handler SET backfill_seq = ? WHERE id = ?`),
}

export type ReplayRow = StoredReplay<number>

const scannedColumns =
  'seq, id, type, received_at AS receivedAt, key, secret_label AS secretLabel, final_status AS finalStatus'

/** Replays and backfills. */
const replays = {
  insertReplay: write(
    `INSERT INTO replay (filter, per_second, new_keys, state, created_at, next_seq, last_seq, events, runs, skipped)
     VALUES (?, ?, ?, ${replayState.running}, ?, 1, ?, 0, 0, 0)`,
  ),
  replayRow: read<ReplayRow>(
    `SELECT id, filter, per_second AS perSecond, new_keys AS newKeys, state, created_at AS createdAt, ended_at AS endedAt,
       next_seq AS nextSeq, last_seq AS lastSeq, events, runs, skipped FROM replay WHERE id = ?`,
  ),
  runningReplays: read<Pick<ReplayRecord, 'id' | 'perSecond'>>(
    `SELECT id, per_second AS perSecond FROM replay INDEXED BY replay_running WHERE state = ${replayState.running}`,
  ),
  advanceReplay: write(
    `UPDATE replay SET next_seq = ?, events = events + ?, runs = runs + ?, skipped = skipped + ? WHERE id = ?`,
  ),
  endReplay: write(`UPDATE replay SET state = ?, ended_at = ? WHERE id = ? AND state = ${replayState.running}`),
  eventsFrom: read<ScannedEvent>(
    `SELECT ${scannedColumns} FROM event WHERE seq >= ? AND seq <= ? ORDER BY seq LIMIT ?`,
  ),
  eventById: read<ScannedEvent>(`SELECT ${scannedColumns} FROM event INDEXED BY event_id WHERE id = ?`),
  rawOf: read<{ raw: Buffer }>(`SELECT raw FROM body WHERE seq = ?`),
  hasBody: read<{ found: number }>(`SELECT 1 AS found FROM body WHERE seq = ?`),
  progressOf: read<ProgressRow>(
    `SELECT state, attempt, replay_id AS replayId FROM run INDEXED BY run_event WHERE event_seq = ?`,
  ),
  openCount: read<{ count: number }>(
    `SELECT count(*) AS count FROM run INDEXED BY run_open
     WHERE handler_id = ? AND replay_id = ? AND ${isOpen()} AND state < ${state.held}`,
  ),
  readyCount: read<{ count: number }>(
    `SELECT count(*) AS count FROM (
       SELECT 1 FROM run INDEXED BY run_claimable
       WHERE state = ${state.ready} AND ${isClaimable()} AND handler_id = ? AND replay_id = ? LIMIT ${minReadyRuns}
     )`,
  ),
  waitingOfReplay: read<{ id: number }>(
    `SELECT id FROM run INDEXED BY run_open WHERE handler_id = ? AND replay_id = ? AND ${isOpen()}
     AND state < ${state.running} AND NOT EXISTS (SELECT 1 FROM item WHERE run_id = run.id) LIMIT ?`,
  ),
}

const pruning = {
  eventsWithBody: read<StoredBody>(
    `SELECT b.seq, e.received_at AS receivedAt, b.total FROM body b CROSS JOIN event e ON e.seq = b.seq
     WHERE b.seq > ? ORDER BY b.seq LIMIT ?`,
  ),
  oldQuarantined: read<StoredBody>(
    `SELECT seq, received_at AS receivedAt, total FROM quarantine WHERE seq > ? ORDER BY seq LIMIT ?`,
  ),
  pruneQuarantined: write(`DELETE FROM quarantine WHERE seq = ?`),
  unfinishedRun: read<{ found: number }>(
    `SELECT 1 AS found FROM run INDEXED BY run_event WHERE event_seq = ? AND state <= ${state.dead} LIMIT 1`,
  ),
  finalStatus: write(`UPDATE event SET final_status = ? WHERE seq = ?`),
  deleteItems: write(`DELETE FROM item WHERE run_id IN (SELECT id FROM run INDEXED BY run_event WHERE event_seq = ?)`),
  deleteAttempts: write(
    `DELETE FROM attempt INDEXED BY attempt_run WHERE run_id IN (SELECT id FROM run INDEXED BY run_event WHERE event_seq = ?)`,
  ),
  deleteRuns: write(`DELETE FROM run INDEXED BY run_event WHERE event_seq = ?`),
  emptyConflicts: write(`UPDATE conflict SET raw = x'' WHERE event_seq = ?`),
  deleteBody: write(`DELETE FROM body WHERE seq = ?`),
}

const gaps = {
  lastReceived: read<{ receivedAt: number }>(`SELECT received_at AS receivedAt FROM event ORDER BY seq DESC LIMIT 1`),
  insertGap: write(
    `INSERT INTO gap (from_at, to_at, kind, retried_until, lost_from, lost_to, arrived, arrived_lost) VALUES (?, ?, ?, ?, ?, ?, 0, 0)`,
  ),
  gaps: read<Gap>(
    `SELECT id, from_at AS "from", to_at AS "to", lost_from AS lostFrom, lost_to AS lostTo FROM gap
     WHERE to_at > ? ORDER BY lost_to IS NULL, id DESC LIMIT ?`,
  ),
  outages: read<Span>(`SELECT from_at AS "from", to_at AS "to" FROM gap WHERE to_at > ? AND kind <> 'restored'`),
  firstRetried: read<{ from: number | null }>(`SELECT min(from_at) AS "from" FROM gap WHERE retried_until > ?`),
  countArrivals: write(
    `UPDATE gap SET arrived = arrived + ?, arrived_lost = arrived_lost + ?, last_arrival_at = ? WHERE id = ?`,
  ),
  acknowledgeGaps: write(`UPDATE gap SET acknowledged_at = ? WHERE lost_to IS NOT NULL AND acknowledged_at IS NULL`),
  deleteGaps: write(
    `DELETE FROM gap WHERE id <= (SELECT max(id) FROM gap) - ? AND (lost_to IS NULL OR acknowledged_at IS NOT NULL)`,
  ),
}

/** The audit, fetched keys of sources, and single values by name. */
const records = {
  sourceKeys: read<SourceKey>(`SELECT id, spki FROM source_key WHERE source = ?`),
  deleteSourceKeys: write(`DELETE FROM source_key WHERE source = ?`),
  insertSourceKey: write(`INSERT INTO source_key (source, id, spki) VALUES (?, ?, ?)`),
  insertAudit: write(`INSERT INTO audit (at, action, detail, by_whom) VALUES (?, ?, ?, ?)`),
  setAuditDetail: write(`UPDATE audit SET detail = ? WHERE id = ?`),
  meta: read<{ value: number }>(`SELECT value FROM meta WHERE name = ?`),
  setMeta: write(
    `INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
  ),
}

const texts = {
  ...accepting,
  ...tallies,
  ...claiming,
  ...ending,
  ...handlerState,
  ...handlers,
  ...replays,
  ...pruning,
  ...gaps,
  ...records,
}

/** A parameter whose value the planner can't see. */
export const hiddenParameter = 'ifnull(?, NULL)'

/**
 * SQLite plans a query again when a bound value changes that the plan may depend on. Planning takes many times as long as an index lookup.
 * Hidden parameters keep the plans fixed.
 */
export const statementTexts = Object.fromEntries(
  Object.entries(texts).map(([name, text]) => [
    name,
    text.startsWith('SELECT') ? text.replaceAll('?', hiddenParameter) : text,
  ]),
) as Readonly<Record<keyof typeof texts, string>>

type Transaction = Readonly<Record<'begin' | 'commit' | 'rollback', Write>>
export type Statements = Transaction & {
  readonly [Name in keyof typeof texts]: (typeof texts)[Name] extends Text<infer S> ? S : never
}

export function prepareStatements(db: Database): Statements {
  const all = { begin: 'BEGIN IMMEDIATE', commit: 'COMMIT', rollback: 'ROLLBACK', ...statementTexts }
  return Object.fromEntries(
    Object.entries(all).map(([name, text]) => [name, db.prepare(text)]),
  ) as unknown as Statements
}
