import type { Database } from 'better-sqlite3'
import { reduceHeaders } from '../reduce-headers.ts'
import { keptTallyMinutes } from '../tally.ts'

type Up = readonly string[] | ((db: Database) => void)

export interface Migration {
  readonly name: string
  readonly oldest: number
  readonly up: Up
}

/**
 * `run.state` is an index into `runStates` of the port: 0 waiting, 1 ready, 2 suspect, 3 running, 4 held, 5 dead, 6 done, and other final
 * states. `event.final_status` is an index into `eventStatuses`, set when the event is pruned. `run.replay_id` is 0 for live runs.
 * `replay.state` is an index into `replayStates`. Partial indexes contain literal numbers, because SQLite compares WHERE clauses literally.
 *
 * Bodies have their own table, so that pruning frees whole pages while event ids stay. `total` is the running sum of body bytes, so the
 * bytes stored after each body are known.
 */
const initial: Up = [
  `CREATE TABLE event (
     seq INTEGER PRIMARY KEY,
     id TEXT NOT NULL,
     type TEXT NOT NULL,
     created_at TEXT NOT NULL,
     received_at INTEGER NOT NULL,
     key TEXT,
     secret_label TEXT NOT NULL,
     final_status INTEGER
   ) STRICT`,
  `CREATE UNIQUE INDEX event_id ON event (id)`,
  `CREATE TABLE body (seq INTEGER PRIMARY KEY, total INTEGER NOT NULL, raw BLOB NOT NULL) STRICT`,
  `CREATE TABLE redelivery (event_seq INTEGER PRIMARY KEY, count INTEGER NOT NULL, last_at INTEGER NOT NULL) STRICT`,
  `CREATE TABLE conflict (
     event_seq INTEGER NOT NULL,
     digest TEXT NOT NULL,
     received_at INTEGER NOT NULL,
     count INTEGER NOT NULL,
     raw BLOB NOT NULL,
     PRIMARY KEY (event_seq, digest)
   ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX conflict_at ON conflict (received_at)`,
  `CREATE TABLE quarantine (
     seq INTEGER PRIMARY KEY,
     id TEXT NOT NULL UNIQUE,
     reason TEXT NOT NULL,
     received_at INTEGER NOT NULL,
     secret_label TEXT NOT NULL,
     count INTEGER NOT NULL,
     total INTEGER NOT NULL,
     raw BLOB NOT NULL
   ) STRICT`,
  `CREATE TABLE handler (
     id INTEGER PRIMARY KEY,
     name TEXT NOT NULL UNIQUE,
     paused INTEGER NOT NULL,
     concurrency INTEGER,
     holds INTEGER NOT NULL,
     superseded INTEGER NOT NULL,
     backfill_seq INTEGER,
     backfill_from INTEGER
   ) STRICT`,
  `CREATE TABLE run (
     id INTEGER PRIMARY KEY,
     event_seq INTEGER NOT NULL,
     handler_id INTEGER NOT NULL,
     replay_id INTEGER NOT NULL,
     key TEXT,
     state INTEGER NOT NULL,
     run_at INTEGER NOT NULL,
     attempt INTEGER NOT NULL,
     failed INTEGER NOT NULL,
     crashed INTEGER NOT NULL,
     token INTEGER NOT NULL,
     started_at INTEGER,
     ended_at INTEGER
   ) STRICT`,
  `CREATE INDEX run_event ON run (event_seq)`,
  `CREATE INDEX run_open ON run (handler_id, replay_id, key, id, state) WHERE state < 5`,
  `CREATE INDEX run_claimable ON run (state, handler_id, replay_id, run_at, id) WHERE state >= 1 AND state <= 2`,
  `CREATE INDEX run_dead ON run (id, handler_id, state) WHERE state >= 4 AND state <= 5`,
  `CREATE INDEX run_died ON run (ended_at, id) WHERE state >= 4 AND state <= 5`,
  `CREATE TABLE attempt (
     run_id INTEGER NOT NULL,
     attempt INTEGER NOT NULL,
     started_at INTEGER NOT NULL,
     ended_at INTEGER NOT NULL,
     outcome TEXT NOT NULL,
     error_name TEXT,
     error_message TEXT,
     error_stack TEXT
   ) STRICT`,
  `CREATE INDEX attempt_run ON attempt (run_id)`,
  `CREATE TABLE replay (
     id INTEGER PRIMARY KEY,
     filter TEXT NOT NULL,
     per_second REAL,
     new_keys INTEGER NOT NULL,
     state INTEGER NOT NULL,
     created_at INTEGER NOT NULL,
     ended_at INTEGER,
     next_seq INTEGER NOT NULL,
     last_seq INTEGER NOT NULL,
     events INTEGER NOT NULL,
     runs INTEGER NOT NULL,
     skipped INTEGER NOT NULL
   ) STRICT`,
  `CREATE INDEX replay_running ON replay (id) WHERE state = 0`,
  `CREATE TABLE item (run_id INTEGER PRIMARY KEY, payload TEXT NOT NULL, idempotency_key TEXT NOT NULL) STRICT`,
  `CREATE TABLE state (
     handler_id INTEGER NOT NULL,
     key TEXT NOT NULL,
     value TEXT NOT NULL,
     version INTEGER NOT NULL,
     expires_at INTEGER,
     PRIMARY KEY (handler_id, key)
   ) STRICT, WITHOUT ROWID`,
  `CREATE INDEX state_expiry ON state (expires_at) WHERE expires_at IS NOT NULL`,
  `CREATE TABLE audit (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, action TEXT NOT NULL, detail TEXT NOT NULL) STRICT`,
  `CREATE TABLE gap (
     id INTEGER PRIMARY KEY,
     from_at INTEGER NOT NULL,
     to_at INTEGER NOT NULL,
     kind TEXT NOT NULL,
     retried_until INTEGER,
     lost_from INTEGER,
     lost_to INTEGER,
     arrived INTEGER NOT NULL,
     arrived_lost INTEGER NOT NULL,
     last_arrival_at INTEGER,
     acknowledged_at INTEGER
   ) STRICT`,
  `CREATE TABLE meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID`,
]

/** Registrations of the receiver by earlier programs. No longer read. */
const subscription: Up = [
  `CREATE TABLE subscription (
     id INTEGER PRIMARY KEY,
     digest TEXT NOT NULL,
     url TEXT NOT NULL,
     events TEXT NOT NULL,
     secret_label TEXT NOT NULL,
     state INTEGER NOT NULL,
     at INTEGER NOT NULL,
     answer TEXT
   ) STRICT`,
]

/**
 * Receipt data of events, the caller in the audit, error groups, and an index of the quarantine by reason. All columns are nullable;
 * older programs leave them empty. Most events share their headers, so an event refers to a set of headers. `stored_ms`: start of the
 * transaction that stored the event, in milliseconds after `received_at`. Older dead letters have no `error_group`, and share a group.
 */
const receipt: Up = [
  `CREATE TABLE header_set (id INTEGER PRIMARY KEY, headers TEXT NOT NULL UNIQUE) STRICT`,
  `ALTER TABLE event ADD COLUMN stored_ms INTEGER`,
  `ALTER TABLE event ADD COLUMN header_set INTEGER`,
  `ALTER TABLE event ADD COLUMN trace TEXT`,
  `ALTER TABLE audit ADD COLUMN by_whom TEXT`,
  // A covering index: scans of dead letters don't read their rows.
  `ALTER TABLE run ADD COLUMN error_group TEXT`,
  `DROP INDEX run_died`,
  `CREATE INDEX run_died ON run (ended_at, id, handler_id, state, event_seq, error_group) WHERE state >= 4 AND state <= 5`,
  // A covering index: counts by reason didn't read bodies.
  `CREATE INDEX quarantine_reason ON quarantine (reason, seq, secret_label, received_at, length(raw))`,
]

/**
 * Removes headers that earlier versions stored and that may contain secrets. Sets that become equal keep their ids, because changing
 * events is slow in a large file. So the text is no longer unique.
 */
const storedHeaders: Up = (db) => {
  const sets = db.prepare<[], { id: number; headers: string }>('SELECT id, headers FROM header_set').all()
  db.exec('DROP TABLE header_set; CREATE TABLE header_set (id INTEGER PRIMARY KEY, headers TEXT NOT NULL) STRICT')
  const insert = db.prepare<[number, string]>('INSERT INTO header_set (id, headers) VALUES (?, ?)')
  for (const { id, headers } of sets) insert.run(id, reduceHeaders(headers))
}

/**
 * `tally`: accepted events per minute of receipt (since 1970), type and network ('' for none). `hour`: first and last accept-sequence
 * number received in an hour. `secret_use`: first and last use of each secret. All three are filled from the stored events.
 */
const tallies: Up = [
  `CREATE TABLE tally (
     minute INTEGER NOT NULL,
     type TEXT NOT NULL,
     network TEXT NOT NULL,
     count INTEGER NOT NULL,
     PRIMARY KEY (minute, type, network)
   ) STRICT, WITHOUT ROWID`,
  `CREATE TABLE hour (hour INTEGER PRIMARY KEY, first_seq INTEGER NOT NULL, last_seq INTEGER NOT NULL) STRICT`,
  `CREATE TABLE secret_use (
     label TEXT PRIMARY KEY,
     first_at INTEGER NOT NULL,
     last_at INTEGER NOT NULL,
     count INTEGER NOT NULL
   ) STRICT, WITHOUT ROWID`,
  `INSERT INTO hour SELECT received_at / 3600000, min(seq), max(seq) FROM event GROUP BY 1`,
  `INSERT INTO secret_use SELECT secret_label, min(received_at), max(received_at), count(*) FROM event GROUP BY 1`,
  `INSERT INTO tally
     SELECT received_at / 60000, type, substr(coalesce(key, ''), 1, max(0, instr(coalesce(key, ''), ':') - 1)), count(*) FROM event
     WHERE received_at >= ((SELECT max(hour) FROM hour) * 60 - ${keptTallyMinutes}) * 60000
     GROUP BY 1, 2, 3`,
]

/**
 * An index of keys in blocks of 1,024 consecutive accept-sequence numbers. A commit writes to few of its pages. In an index by key alone,
 * each event would write to another page.
 */
const keyBlocks: Up = [
  `DROP INDEX IF EXISTS event_key`,
  `CREATE INDEX event_key ON event (seq >> 10, substr(key, -8)) WHERE key IS NOT NULL`,
]

/** `stable_digest`: see `NewEvent`. `source_key`: fetched public keys. */
const sources: Up = [
  `ALTER TABLE event ADD COLUMN stable_digest TEXT`,
  `CREATE TABLE source_key (source TEXT, id TEXT, spki TEXT NOT NULL, PRIMARY KEY (source, id)) STRICT, WITHOUT ROWID`,
]

/** Migrations are numbered and forward-only. `oldest`: number of the oldest schema whose program may still run on the result. */
export const migrations: readonly Migration[] = [
  { name: '0001-initial', oldest: 1, up: initial },
  { name: '0002-subscription', oldest: 1, up: subscription },
  { name: '0003-receipt', oldest: 1, up: receipt },
  { name: '0004-stored-headers', oldest: 1, up: storedHeaders },
  // An older program would not count its events, so searches by time would miss them.
  { name: '0005-tallies', oldest: 5, up: tallies },
  // An older program would use a dropped index.
  { name: '0006-key-blocks', oldest: 6, up: keyBlocks },
  // An older program would give events of other sources to handlers of the default source.
  { name: '0007-sources', oldest: 7, up: sources },
]
