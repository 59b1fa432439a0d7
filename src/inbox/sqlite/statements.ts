import type { Database } from 'better-sqlite3'
import { enoughReady } from '../jobs.ts'
import { runStates, type RunState, type StateEntry, type Subscription } from '../port.ts'
import type { Place } from './leases.ts'
import type { ProgressRow } from '../status.ts'
import type { ReplayRow as StoredReplay } from '../replay-row.ts'

/** A statement that changes rows. */
interface Write<P extends unknown[]> {
  run(...parameters: P): { readonly changes: number; readonly lastInsertRowid: number | bigint }
}

/** A statement that gives rows. */
interface Read<P extends unknown[], R> {
  get(...parameters: P): R | undefined
  all(...parameters: P): R[]
}

/** The numbers that `run.state` holds. */
export const state = Object.fromEntries(runStates.map((name, index) => [name, index])) as Readonly<
  Record<RunState, number>
>

export interface ClaimRow {
  readonly runId: number
  readonly token: number
  readonly attempt: number
  readonly failed: number
  readonly crashed: number
  readonly runKey: string | null
  readonly replayId: number
  readonly seq: number
  readonly id: string
  readonly type: string
  readonly createdAt: string
  readonly receivedAt: number
  readonly key: string | null
  readonly secretLabel: string
  readonly trace: string | null
  readonly payload: string | null
  readonly idempotencyKey: string | null
  /** Null if it is no longer kept, or the event itself is gone. */
  readonly raw: Buffer | null
}

/** An event as a replay or a backfill looks at it. */
export interface ScannedEvent {
  readonly seq: number
  readonly id: string
  readonly type: string
  readonly receivedAt: number
  readonly key: string | null
  /** Of one that was pruned. */
  readonly finalStatus: number | null
}

/** A gap with what is lost of it. */
export interface GapRow {
  readonly id: number
  readonly from: number
  readonly to: number
  readonly lostFrom: number | null
  readonly lostTo: number | null
}

/** A body as pruning looks at it. */
export interface KeptBody {
  readonly seq: number
  readonly receivedAt: number
  /** How many bytes the bodies of its table had up to it, itself among them. */
  readonly total: number
}

export interface SubscriptionRow extends Omit<Subscription, 'events' | 'state'> {
  /** JSON */
  readonly events: string
  readonly state: number
}

export type ReplayRow = StoredReplay<number>

/**
 * The writer's statements as text. Each names its index, because the planner, left alone, has taken one that reads the whole
 * backlog; a test checks the plan of each. What they say of `state`
 * is in the indexes' WHERE clauses, word for word.
 */
const texts = {
  insertEvent: `INSERT INTO event (seq, id, type, created_at, received_at, key, secret_label, stored_ms, header_set, trace)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
  headerSets: `SELECT id, headers FROM header_set`,
  insertHeaderSet: `INSERT INTO header_set (headers) VALUES (?)`,
  setHeaderSet: `UPDATE event SET header_set = ? WHERE seq = ?`,
  insertBody: `INSERT INTO body (seq, total, raw) VALUES (?, ?, ?)`,
  lastBody: `SELECT total FROM body ORDER BY seq DESC LIMIT 1`,
  bodyOf: `SELECT e.seq, b.raw FROM event e INDEXED BY event_id LEFT JOIN body b ON b.seq = e.seq WHERE e.id = ?`,
  countRedelivery: `INSERT INTO redelivery (event_seq, count, last_at) VALUES (?, 1, ?)
     ON CONFLICT (event_seq) DO UPDATE SET count = count + 1, last_at = excluded.last_at`,
  countConflict: `INSERT INTO conflict (event_seq, digest, received_at, count, raw)
     VALUES ((SELECT seq FROM event INDEXED BY event_id WHERE id = ?), ?, ?, 1, ?)
     ON CONFLICT (event_seq, digest) DO UPDATE SET count = count + 1`,
  insertQuarantined: `INSERT INTO quarantine (id, reason, received_at, secret_label, count, total, raw)
     VALUES (?, ?, ?, ?, 1, ?, ?) ON CONFLICT (id) DO UPDATE SET count = count + 1`,
  lastQuarantined: `SELECT total FROM quarantine ORDER BY seq DESC LIMIT 1`,

  insertRun: `INSERT INTO run
     (id, event_seq, handler_id, replay_id, key, state, run_at, attempt, failed, crashed, token, started_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?)`,
  openOfKey: `SELECT id, state FROM run INDEXED BY run_open
     WHERE handler_id = ? AND replay_id = ? AND key = ? AND state < 5 ORDER BY id LIMIT 1`,
  allOpenOfKey: `SELECT id, state FROM run INDEXED BY run_open
     WHERE handler_id = ? AND replay_id = ? AND key = ? AND state < 5 ORDER BY id LIMIT ?`,
  claimable: `SELECT r.id AS runId, r.token, r.attempt, r.failed, r.crashed, r.key AS runKey, r.replay_id AS replayId,
       e.seq, e.id, e.type, e.created_at AS createdAt, e.received_at AS receivedAt, e.key,
       e.secret_label AS secretLabel, e.trace, b.raw, i.payload, i.idempotency_key AS idempotencyKey
     FROM run r INDEXED BY run_claimable
     LEFT JOIN event e ON e.seq = r.event_seq LEFT JOIN body b ON b.seq = e.seq LEFT JOIN item i ON i.run_id = r.id
     WHERE r.state = ? AND r.state >= 1 AND r.state <= 2 AND r.handler_id = ? AND r.replay_id = ? AND r.run_at <= ?
     ORDER BY r.run_at, r.id LIMIT ?`,
  nextDue: `SELECT run_at FROM run INDEXED BY run_claimable
     WHERE state = ? AND state >= 1 AND state <= 2 AND handler_id = ? AND replay_id = ? ORDER BY run_at LIMIT 1`,
  nextGeneration: `SELECT replay_id FROM run INDEXED BY run_claimable
     WHERE state = ? AND state >= 1 AND state <= 2 AND handler_id = ? AND replay_id > ? ORDER BY replay_id LIMIT 1`,
  claimableCount: `SELECT count(*) AS count FROM run INDEXED BY run_claimable WHERE state >= 1 AND state <= 2`,
  newestOfKey: `SELECT id FROM run INDEXED BY run_open
     WHERE handler_id = ? AND replay_id = ? AND key = ? AND state < 5 ORDER BY id DESC LIMIT 1`,
  isItem: `SELECT 1 AS found FROM item WHERE run_id = ?`,
  heldCount: `SELECT count(*) AS count FROM run INDEXED BY run_dead WHERE state >= 4 AND state <= 5 AND state = ${state.held}`,
  claimRun: `UPDATE run SET state = ${state.running}, token = token + 1, attempt = attempt + 1, started_at = ? WHERE id = ?`,
  finishRun: `UPDATE run SET state = ?, crashed = 0, started_at = ?, ended_at = ? WHERE id = ?`,
  retryRun: `UPDATE run SET state = ${state.ready}, failed = failed + 1, crashed = 0, run_at = ? WHERE id = ?`,
  readyRun: `UPDATE run SET state = ${state.ready} WHERE id = ?`,
  releaseRun: `UPDATE run SET state = ?, attempt = attempt - 1 WHERE id = ?`,
  // One that was a suspect already goes behind the others.
  suspectRun: `UPDATE run SET state = ${state.suspect}, crashed = ?, run_at = CASE WHEN crashed > 0 THEN ? ELSE run_at END
     WHERE id = ?`,
  shiftOpenRuns: `UPDATE run INDEXED BY run_open SET run_at = run_at - ? WHERE state < 5`,
  snoozeRun: `UPDATE run SET state = ${state.ready}, attempt = attempt - 1, crashed = 0, run_at = ? WHERE id = ?`,
  endUntried: `UPDATE run SET state = ?, attempt = attempt - 1, crashed = 0, ended_at = ? WHERE id = ?`,
  supersede: `UPDATE run SET state = ${state.superseded}, crashed = 0, ended_at = ? WHERE id = ?`,
  supersedeUntried: `UPDATE run SET state = ${state.superseded}, attempt = attempt - 1, crashed = 0, ended_at = ? WHERE id = ?`,
  countSuperseded: `UPDATE handler SET superseded = superseded + ? WHERE id = ?`,
  setHolds: `UPDATE handler SET holds = ? WHERE id = ?`,
  crashedOutRun: `UPDATE run SET state = ?, crashed = ?, ended_at = ?, error_group = ? WHERE id = ?`,
  dieRun: `UPDATE run SET state = ?, crashed = 0, started_at = ?, ended_at = ?, error_group = ? WHERE id = ?`,
  startOf: `SELECT started_at FROM run WHERE id = ?`,
  running: `SELECT id, handler_id, replay_id, key, attempt, crashed FROM run INDEXED BY run_open
     WHERE state = ${state.running} AND state < 5`,
  eventIdOf: `SELECT id FROM event WHERE seq = (SELECT event_seq FROM run WHERE id = ?)`,
  deadAfter: `SELECT id FROM run INDEXED BY run_dead WHERE state >= 4 AND state <= 5 AND id > ? ORDER BY id LIMIT ?`,
  deadRun: `SELECT handler_id, replay_id, key, state FROM run WHERE id = ? AND state >= ${state.held} AND state <= ${state.dead}`,
  requeueRun: `UPDATE run SET state = ?, run_at = ?, attempt = 0, failed = 0, crashed = 0, ended_at = NULL WHERE id = ?`,
  maxRunId: `SELECT id FROM run ORDER BY id DESC LIMIT 1`,
  insertAttempt: `INSERT INTO attempt
     (run_id, attempt, started_at, ended_at, outcome, error_name, error_message, error_stack) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  insertItem: `INSERT INTO item (run_id, payload, idempotency_key) VALUES (?, ?, ?)`,

  stateOf: `SELECT key, value, version, expires_at AS expiresAt FROM state
     WHERE handler_id = ? AND key = ? AND (expires_at IS NULL OR expires_at > ?)`,
  stateBetween: `SELECT key, value, version, expires_at AS expiresAt FROM state
     WHERE handler_id = ? AND key >= ? AND key < ? AND (expires_at IS NULL OR expires_at > ?) ORDER BY key LIMIT ?`,
  putState: `INSERT INTO state (handler_id, key, value, version, expires_at) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (handler_id, key) DO UPDATE
     SET value = excluded.value, version = excluded.version, expires_at = excluded.expires_at`,
  deleteState: `DELETE FROM state WHERE handler_id = ? AND key = ?`,
  expiredState: `SELECT handler_id, key FROM state INDEXED BY state_expiry
     WHERE expires_at IS NOT NULL AND expires_at <= ? ORDER BY expires_at LIMIT ?`,

  handlers: `SELECT id, name, paused, holds, backfill_seq FROM handler`,
  insertHandler: `INSERT INTO handler (name, paused, holds, superseded) VALUES (?, 0, 0, 0)`,
  pauseHandler: `UPDATE handler SET paused = ? WHERE id = ?`,
  startBackfill: `UPDATE handler SET backfill_seq = 1, backfill_from = ? WHERE id = ?`,
  backfill: `SELECT backfill_seq AS nextSeq, backfill_from AS receivedFrom FROM handler WHERE id = ?`,
  moveBackfill: `UPDATE handler SET backfill_seq = ? WHERE id = ?`,

  eventsFrom: `SELECT seq, id, type, received_at AS receivedAt, key, final_status AS finalStatus FROM event WHERE seq >= ? AND seq <= ? ORDER BY seq LIMIT ?`,
  eventById: `SELECT seq, id, type, received_at AS receivedAt, key, final_status AS finalStatus FROM event INDEXED BY event_id WHERE id = ?`,
  rawOf: `SELECT raw FROM body WHERE seq = ?`,
  hasBody: `SELECT 1 AS found FROM body WHERE seq = ?`,
  progressOf: `SELECT state, attempt, replay_id AS replayId FROM run INDEXED BY run_event WHERE event_seq = ?`,
  openCount: `SELECT count(*) AS count FROM run INDEXED BY run_open WHERE handler_id = ? AND replay_id = ? AND state < 5 AND state < ${state.held}`,
  readyCount: `SELECT count(*) AS count FROM (
     SELECT 1 FROM run INDEXED BY run_claimable
     WHERE state = ${state.ready} AND state >= 1 AND state <= 2 AND handler_id = ? AND replay_id = ? LIMIT ${enoughReady}
   )`,
  insertReplay: `INSERT INTO replay
     (filter, per_second, new_keys, state, created_at, next_seq, last_seq, events, runs, skipped)
     VALUES (?, ?, ?, 0, ?, 1, ?, 0, 0, 0)`,
  replayRow: `SELECT id, filter, per_second AS perSecond, new_keys AS newKeys, state, created_at AS createdAt,
       ended_at AS endedAt, next_seq AS nextSeq, last_seq AS lastSeq, events, runs, skipped FROM replay WHERE id = ?`,
  runningReplays: `SELECT id, per_second AS perSecond FROM replay INDEXED BY replay_running WHERE state = 0`,
  moveReplay: `UPDATE replay SET next_seq = ?, events = events + ?, runs = runs + ?, skipped = skipped + ? WHERE id = ?`,
  endReplay: `UPDATE replay SET state = ?, ended_at = ? WHERE id = ? AND state = 0`,
  waitingOfReplay: `SELECT id FROM run INDEXED BY run_open WHERE handler_id = ? AND replay_id = ? AND state < 5
     AND state < ${state.running} AND NOT EXISTS (SELECT 1 FROM item WHERE run_id = run.id) LIMIT ?`,
  eventsWithBody: `SELECT b.seq, e.received_at AS receivedAt, b.total FROM body b CROSS JOIN event e ON e.seq = b.seq
     WHERE b.seq > ? ORDER BY b.seq LIMIT ?`,
  oldQuarantined: `SELECT seq, received_at AS receivedAt, total FROM quarantine WHERE seq > ? ORDER BY seq LIMIT ?`,
  pruneQuarantined: `DELETE FROM quarantine WHERE seq = ?`,
  unfinishedRun: `SELECT 1 AS found FROM run INDEXED BY run_event WHERE event_seq = ? AND state <= ${state.dead} LIMIT 1`,
  finalStatus: `UPDATE event SET final_status = ? WHERE seq = ?`,
  deleteItems: `DELETE FROM item WHERE run_id IN (SELECT id FROM run INDEXED BY run_event WHERE event_seq = ?)`,
  deleteAttempts: `DELETE FROM attempt INDEXED BY attempt_run
     WHERE run_id IN (SELECT id FROM run INDEXED BY run_event WHERE event_seq = ?)`,
  deleteRuns: `DELETE FROM run INDEXED BY run_event WHERE event_seq = ?`,
  emptyConflicts: `UPDATE conflict SET raw = x'' WHERE event_seq = ?`,
  deleteBody: `DELETE FROM body WHERE seq = ?`,
  openOfHandler: `SELECT id FROM run INDEXED BY run_open WHERE handler_id = ? AND state < 5 AND state <> ${state.running} LIMIT ?`,
  place: `SELECT handler_id AS handlerId, replay_id AS replayId, key, state, attempt FROM run WHERE id = ?`,
  deleteQuarantined: `DELETE FROM quarantine WHERE id = ?`,
  setConcurrency: `UPDATE handler SET concurrency = ? WHERE id = ?`,
  lastReceived: `SELECT received_at AS receivedAt FROM event ORDER BY seq DESC LIMIT 1`,
  insertGap: `INSERT INTO gap (from_at, to_at, kind, retried_until, lost_from, lost_to, arrived, arrived_lost)
     VALUES (?, ?, ?, ?, ?, ?, 0, 0)`,
  gaps: `SELECT id, from_at AS "from", to_at AS "to", lost_from AS lostFrom, lost_to AS lostTo FROM gap
     WHERE to_at > ? ORDER BY lost_to IS NULL, id DESC LIMIT ?`,
  outages: `SELECT from_at AS "from", to_at AS "to" FROM gap WHERE to_at > ? AND kind <> 'restored'`,
  firstRetried: `SELECT min(from_at) AS "from" FROM gap WHERE retried_until > ?`,
  countArrivals: `UPDATE gap SET arrived = arrived + ?, arrived_lost = arrived_lost + ?, last_arrival_at = ? WHERE id = ?`,
  acknowledgeGaps: `UPDATE gap SET acknowledged_at = ? WHERE lost_to IS NOT NULL AND acknowledged_at IS NULL`,
  deleteGaps: `DELETE FROM gap WHERE id <= (SELECT max(id) FROM gap) - ? AND (lost_to IS NULL OR acknowledged_at IS NOT NULL)`,
  setConcurrencies: `SELECT name, concurrency FROM handler WHERE concurrency IS NOT NULL`,
  newestSubscription: `SELECT id, digest, url, events, secret_label AS secretLabel, state, at, answer FROM subscription
     WHERE state < 2 ORDER BY id DESC LIMIT 1`,
  insertSubscription: `INSERT INTO subscription (digest, url, events, secret_label, state, at) VALUES (?, ?, ?, ?, 0, ?)`,
  endSubscription: `UPDATE subscription SET state = ?, answer = ? WHERE id = ? AND state = 0`,
  insertAudit: `INSERT INTO audit (at, action, detail, by_whom) VALUES (?, ?, ?, ?)`,
  setAuditDetail: `UPDATE audit SET detail = ? WHERE id = ?`,
  addTally: `INSERT INTO tally (minute, type, network, count) VALUES (?, ?, ?, ?)
     ON CONFLICT (minute, type, network) DO UPDATE SET count = count + excluded.count`,
  addHour: `INSERT INTO hour (hour, first_seq, last_seq) VALUES (?, ?, ?)
     ON CONFLICT (hour) DO UPDATE SET last_seq = excluded.last_seq`,
  addSecretUse: `INSERT INTO secret_use (label, first_at, last_at, count) VALUES (?, ?, ?, ?)
     ON CONFLICT (label) DO UPDATE SET last_at = max(last_at, excluded.last_at), count = count + excluded.count`,
  pruneTallies: `DELETE FROM tally WHERE minute < min(?, (SELECT min(minute) FROM tally) + ?)`,
  dropRun: `UPDATE run SET state = ${state.dropped}, crashed = 0, ended_at = ? WHERE id = ?`,
  dropUntried: `UPDATE run SET state = ${state.dropped}, attempt = attempt - 1, crashed = 0, ended_at = ? WHERE id = ?`,
  meta: `SELECT value FROM meta WHERE name = ?`,
  setMeta: `INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
} as const

/** A parameter that the planner cannot see the value of. */
export const hiddenParameter = 'ifnull(?, NULL)'

/**
 * SQLite plans a query anew whenever another value is bound that its plan could depend on, which takes many times as long as
 * a look into an index. These plans are fixed: so no value is shown.
 */
export const statementTexts = Object.fromEntries(
  Object.entries(texts).map(([name, text]) => [
    name,
    text.startsWith('SELECT') ? text.replaceAll('?', hiddenParameter) : text,
  ]),
) as Readonly<Record<keyof typeof texts, string>>

export type Statements = ReturnType<typeof prepareStatements>

export function prepareStatements(db: Database) {
  const write = <P extends unknown[]>(text: string): Write<P> => db.prepare<P>(text)
  const read = <P extends unknown[], R>(text: string): Read<P, R> => db.prepare<P, R>(text)
  const t = statementTexts
  return {
    begin: write<[]>('BEGIN IMMEDIATE'),
    commit: write<[]>('COMMIT'),
    rollback: write<[]>('ROLLBACK'),
    insertEvent: write<
      [number, string, string, string, number, string | null, string, number, number | null, string | null]
    >(t.insertEvent),
    headerSets: read<[], { id: number; headers: string }>(t.headerSets),
    insertHeaderSet: write<[string]>(t.insertHeaderSet),
    setHeaderSet: write<[number, number]>(t.setHeaderSet),
    insertBody: write<[number, number, Uint8Array]>(t.insertBody),
    lastBody: read<[], { total: number }>(t.lastBody),
    bodyOf: read<[string], { seq: number; raw: Buffer | null }>(t.bodyOf),
    countRedelivery: write<[number, number]>(t.countRedelivery),
    countConflict: write<[string, string, number, Uint8Array]>(t.countConflict),
    insertQuarantined: write<[string, string, number, string, number, Uint8Array]>(t.insertQuarantined),
    lastQuarantined: read<[], { total: number }>(t.lastQuarantined),
    insertRun: write<[number, number, number, number, string | null, number, number, number, number, number | null]>(
      t.insertRun,
    ),
    openOfKey: read<[number, number, string], { id: number; state: number }>(t.openOfKey),
    allOpenOfKey: read<[number, number, string, number], { id: number; state: number }>(t.allOpenOfKey),
    heldCount: read<[], { count: number }>(t.heldCount),
    newestOfKey: read<[number, number, string], { id: number }>(t.newestOfKey),
    isItem: read<[number], { found: number }>(t.isItem),
    snoozeRun: write<[number, number]>(t.snoozeRun),
    endUntried: write<[number, number, number]>(t.endUntried),
    supersede: write<[number, number]>(t.supersede),
    supersedeUntried: write<[number, number]>(t.supersedeUntried),
    countSuperseded: write<[number, number]>(t.countSuperseded),
    setHolds: write<[number, number]>(t.setHolds),
    claimable: read<[number, number, number, number, number], ClaimRow>(t.claimable),
    nextDue: read<[number, number, number], { run_at: number }>(t.nextDue),
    nextGeneration: read<[number, number, number], { replay_id: number }>(t.nextGeneration),
    claimableCount: read<[], { count: number }>(t.claimableCount),
    claimRun: write<[number, number]>(t.claimRun),
    finishRun: write<[number, number, number, number]>(t.finishRun),
    retryRun: write<[number, number]>(t.retryRun),
    readyRun: write<[number]>(t.readyRun),
    releaseRun: write<[number, number]>(t.releaseRun),
    suspectRun: write<[number, number, number]>(t.suspectRun),
    shiftOpenRuns: write<[number]>(t.shiftOpenRuns),
    crashedOutRun: write<[number, number, number, string, number]>(t.crashedOutRun),
    dieRun: write<[number, number, number, string, number]>(t.dieRun),
    startOf: read<[number], { started_at: number | null }>(t.startOf),
    running: read<
      [],
      { id: number; handler_id: number; replay_id: number; key: string | null; attempt: number; crashed: number }
    >(t.running),
    eventIdOf: read<[number], { id: string }>(t.eventIdOf),
    deadAfter: read<[number, number], { id: number }>(t.deadAfter),
    deadRun: read<[number], { handler_id: number; replay_id: number; key: string | null; state: number }>(t.deadRun),
    requeueRun: write<[number, number, number]>(t.requeueRun),
    maxRunId: read<[], { id: number }>(t.maxRunId),
    insertAttempt: write<[number, number, number, number, string, string | null, string | null, string | null]>(
      t.insertAttempt,
    ),
    insertItem: write<[number, string, string]>(t.insertItem),
    stateOf: read<[number, string, number], StateEntry>(t.stateOf),
    stateBetween: read<[number, string, string, number, number], StateEntry>(t.stateBetween),
    putState: write<[number, string, string, number, number | null]>(t.putState),
    deleteState: write<[number, string]>(t.deleteState),
    expiredState: read<[number, number], { handler_id: number; key: string }>(t.expiredState),
    handlers: read<[], { id: number; name: string; paused: number; holds: number; backfill_seq: number | null }>(
      t.handlers,
    ),
    pauseHandler: write<[number, number]>(t.pauseHandler),
    startBackfill: write<[number, number]>(t.startBackfill),
    backfill: read<[number], { nextSeq: number | null; receivedFrom: number }>(t.backfill),
    moveBackfill: write<[number | null, number]>(t.moveBackfill),
    eventsFrom: read<[number, number, number], ScannedEvent>(t.eventsFrom),
    eventById: read<[string], ScannedEvent>(t.eventById),
    rawOf: read<[number], { raw: Buffer }>(t.rawOf),
    hasBody: read<[number], { found: number }>(t.hasBody),
    progressOf: read<[number], ProgressRow>(t.progressOf),
    openCount: read<[number, number], { count: number }>(t.openCount),
    readyCount: read<[number, number], { count: number }>(t.readyCount),
    insertReplay: write<[string, number | null, number, number, number]>(t.insertReplay),
    replayRow: read<[number], ReplayRow>(t.replayRow),
    runningReplays: read<[], { id: number; perSecond: number | null }>(t.runningReplays),
    moveReplay: write<[number, number, number, number, number]>(t.moveReplay),
    endReplay: write<[number, number, number]>(t.endReplay),
    waitingOfReplay: read<[number, number, number], { id: number }>(t.waitingOfReplay),
    eventsWithBody: read<[number, number], KeptBody>(t.eventsWithBody),
    oldQuarantined: read<[number, number], KeptBody>(t.oldQuarantined),
    pruneQuarantined: write<[number]>(t.pruneQuarantined),
    unfinishedRun: read<[number], { found: number }>(t.unfinishedRun),
    finalStatus: write<[number, number]>(t.finalStatus),
    deleteItems: write<[number]>(t.deleteItems),
    deleteAttempts: write<[number]>(t.deleteAttempts),
    deleteRuns: write<[number]>(t.deleteRuns),
    emptyConflicts: write<[number]>(t.emptyConflicts),
    deleteBody: write<[number]>(t.deleteBody),
    openOfHandler: read<[number, number], { id: number }>(t.openOfHandler),
    place: read<[number], Place & { readonly state: number; readonly attempt: number }>(t.place),
    deleteQuarantined: write<[string]>(t.deleteQuarantined),
    setConcurrency: write<[number | null, number]>(t.setConcurrency),
    lastReceived: read<[], { receivedAt: number }>(t.lastReceived),
    insertGap: write<[number, number, string, number | null, number | null, number | null]>(t.insertGap),
    gaps: read<[number, number], GapRow>(t.gaps),
    outages: read<[number], Pick<GapRow, 'from' | 'to'>>(t.outages),
    firstRetried: read<[number], { from: number | null }>(t.firstRetried),
    countArrivals: write<[number, number, number, number]>(t.countArrivals),
    acknowledgeGaps: write<[number]>(t.acknowledgeGaps),
    deleteGaps: write<[number]>(t.deleteGaps),
    setConcurrencies: read<[], { name: string; concurrency: number }>(t.setConcurrencies),
    newestSubscription: read<[], SubscriptionRow>(t.newestSubscription),
    insertSubscription: write<[string, string, string, string, number]>(t.insertSubscription),
    endSubscription: write<[number, string | null, number]>(t.endSubscription),
    insertAudit: write<[number, string, string, string | null]>(t.insertAudit),
    setAuditDetail: write<[string, number]>(t.setAuditDetail),
    addTally: write<[number, string, string, number]>(t.addTally),
    addHour: write<[number, number, number]>(t.addHour),
    addSecretUse: write<[string, number, number, number]>(t.addSecretUse),
    pruneTallies: write<[number, number]>(t.pruneTallies),
    dropRun: write<[number, number]>(t.dropRun),
    dropUntried: write<[number, number]>(t.dropUntried),
    meta: read<[string], { value: number }>(t.meta),
    insertHandler: write<[string]>(t.insertHandler),
    setMeta: write<[string, number]>(t.setMeta),
  }
}
