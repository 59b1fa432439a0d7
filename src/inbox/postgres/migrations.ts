import { reduceHeaders } from '../reduce-headers.ts'
import { keptTallyMinutes } from '../tally.ts'
import type { Rows } from './database.ts'

type Up = readonly string[] | ((trx: Rows) => Promise<void>)

/**
 * Migrations are numbered and forward-only. `oldest`: number of the oldest schema whose program may still run on the result. Migrations
 * change tables only; the functions are installed after all of them. If older programs can't call the new functions, add a migration that
 * excludes them.
 */
export interface Migration {
  readonly name: string
  readonly oldest: number
  readonly up: Up
}

/**
 * The tables of the SQLite adapter, plus cluster tables: `counter`, `lane` (see locks.ts), `replica`, and the owner of a run.
 * `run.state` is an index into `runStates` of the port: 0 waiting, 1 ready, 2 suspect, 3 running, 4 held, 5 dead, 6 done, and other final
 * states. `event.final_status` is an index into `eventStatuses`, set when the event is pruned. `run.replay_id` is 0 for live runs.
 * `handler.first_seq`: the handler gets no events before this number. `replay.state` is an index into `replayStates`.
 * `subscription`: registrations of the receiver by earlier programs, no longer read. Text from outside is stored by `toStored` and sorted
 * by bytes. Times are milliseconds since 1970.
 */
const initial: Up = [
  `CREATE TABLE inbox.counter (last_seq bigint NOT NULL, body_bytes bigint NOT NULL) WITH (fillfactor = 10)`,
  `INSERT INTO inbox.counter VALUES (0, 0)`,
  `CREATE TABLE inbox.lane (id integer PRIMARY KEY)`,
  `INSERT INTO inbox.lane SELECT generate_series(0, 65535)`,
  `CREATE TABLE inbox.header_set (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, headers text COLLATE "C" NOT NULL)`,
  `CREATE UNIQUE INDEX header_set_headers ON inbox.header_set (md5(headers))`,
  `CREATE TABLE inbox.event (
     seq bigint PRIMARY KEY,
     id text COLLATE "C" NOT NULL UNIQUE,
     type text COLLATE "C" NOT NULL,
     created_at text NOT NULL,
     received_at bigint NOT NULL,
     key text COLLATE "C",
     secret_label text NOT NULL,
     stored_ms bigint,
     header_set integer,
     trace text,
     final_status smallint
   )`,
  // Each pruning deletes a small part of the table. Its space is reused earlier than by default, at a fifth of the table.
  `CREATE TABLE inbox.body (seq bigint PRIMARY KEY, total bigint NOT NULL, raw bytea NOT NULL) WITH (
     autovacuum_vacuum_scale_factor = 0.02,
     autovacuum_analyze_scale_factor = 0.02,
     toast.autovacuum_vacuum_scale_factor = 0.02
   )`,
  // No compression: bodies are read as a whole, and compressing them costs more time than it saves.
  `ALTER TABLE inbox.body ALTER raw SET STORAGE EXTERNAL`,
  `CREATE TABLE inbox.redelivery (event_seq bigint PRIMARY KEY, count integer NOT NULL, last_at bigint NOT NULL)`,
  `CREATE TABLE inbox.conflict (
     event_seq bigint NOT NULL,
     digest text COLLATE "C" NOT NULL,
     received_at bigint NOT NULL,
     count integer NOT NULL,
     raw bytea NOT NULL,
     PRIMARY KEY (event_seq, digest)
   )`,
  `CREATE INDEX conflict_at ON inbox.conflict (received_at, event_seq, digest)`,
  `CREATE TABLE inbox.quarantine (
     seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     id text COLLATE "C" NOT NULL UNIQUE,
     reason text COLLATE "C" NOT NULL,
     received_at bigint NOT NULL,
     secret_label text COLLATE "C" NOT NULL,
     count integer NOT NULL,
     total bigint NOT NULL,
     raw bytea NOT NULL
   )`,
  `CREATE INDEX quarantine_reason ON inbox.quarantine (reason, seq)`,
  `CREATE TABLE inbox.handler (
     id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     name text COLLATE "C" NOT NULL UNIQUE,
     paused boolean NOT NULL DEFAULT false,
     concurrency integer,
     holds boolean NOT NULL DEFAULT false,
     latest_only boolean NOT NULL DEFAULT false,
     superseded bigint NOT NULL DEFAULT 0,
     backfill_seq bigint,
     backfill_from bigint,
     first_seq bigint NOT NULL DEFAULT 1
   )`,
  `CREATE SEQUENCE inbox.run_id`,
  `CREATE TABLE inbox.run (
     id bigint PRIMARY KEY,
     event_seq bigint NOT NULL,
     handler_id integer NOT NULL,
     replay_id integer NOT NULL,
     key text COLLATE "C",
     state smallint NOT NULL,
     run_at bigint NOT NULL,
     attempt integer NOT NULL DEFAULT 0,
     failed integer NOT NULL DEFAULT 0,
     crashed integer NOT NULL DEFAULT 0,
     token integer NOT NULL DEFAULT 0,
     owner text,
     claim_id bigint,
     started_at bigint,
     ended_at bigint,
     error_group text COLLATE "C"
   ) WITH (
     fillfactor = 80,
     autovacuum_vacuum_scale_factor = 0.02,
     autovacuum_vacuum_insert_scale_factor = 0.05,
     autovacuum_analyze_scale_factor = 0.02
   )`,
  `CREATE INDEX run_event ON inbox.run (event_seq)`,
  `CREATE INDEX run_open ON inbox.run (handler_id, replay_id, key, id) INCLUDE (state) WHERE state < 5`,
  `CREATE INDEX run_claimable ON inbox.run (state, handler_id, replay_id, run_at, id) WHERE state >= 1 AND state <= 2`,
  // Running runs have an owner. Queries use the owner only, because `run_open` contains running runs too.
  `CREATE INDEX run_leased ON inbox.run (owner, claim_id) WHERE owner IS NOT NULL`,
  // Guarantees that at most one run per key is claimable, running or held.
  `CREATE UNIQUE INDEX run_one ON inbox.run (handler_id, replay_id, key) WHERE state >= 1 AND state <= 4 AND key IS NOT NULL`,
  `CREATE INDEX run_dead ON inbox.run (id) INCLUDE (handler_id, state) WHERE state >= 4 AND state <= 5`,
  `CREATE INDEX run_died ON inbox.run (ended_at, id) INCLUDE (handler_id, state, event_seq, error_group)
     WHERE state >= 4 AND state <= 5`,
  `CREATE TABLE inbox.attempt (
     run_id bigint NOT NULL,
     attempt integer NOT NULL,
     started_at bigint NOT NULL,
     ended_at bigint NOT NULL,
     outcome text NOT NULL,
     error_name text,
     error_message text,
     error_stack text,
     seq bigint GENERATED ALWAYS AS IDENTITY
   )`,
  `CREATE INDEX attempt_run ON inbox.attempt (run_id, seq)`,
  `CREATE TABLE inbox.item (run_id bigint PRIMARY KEY, payload text NOT NULL, idempotency_key text NOT NULL)`,
  `CREATE TABLE inbox.replay (
     id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     filter text NOT NULL,
     per_second double precision,
     new_keys boolean NOT NULL,
     state smallint NOT NULL,
     created_at bigint NOT NULL,
     ended_at bigint,
     next_seq bigint NOT NULL,
     last_seq bigint NOT NULL,
     events bigint NOT NULL,
     runs bigint NOT NULL,
     skipped bigint NOT NULL
   )`,
  `CREATE INDEX replay_running ON inbox.replay (id) WHERE state = 0`,
  `CREATE TABLE inbox.state (
     handler_id integer NOT NULL,
     key text COLLATE "C" NOT NULL,
     value text NOT NULL,
     version bigint NOT NULL,
     expires_at bigint,
     PRIMARY KEY (handler_id, key)
   )`,
  `CREATE INDEX state_expiry ON inbox.state (expires_at) WHERE expires_at IS NOT NULL`,
  `CREATE TABLE inbox.audit (
     id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     at bigint NOT NULL,
     action text NOT NULL,
     detail text NOT NULL,
     by_whom text
   )`,
  `CREATE TABLE inbox.gap (
     id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     from_at bigint NOT NULL,
     to_at bigint NOT NULL,
     kind text NOT NULL,
     retried_until bigint,
     lost_from bigint,
     lost_to bigint,
     arrived integer NOT NULL DEFAULT 0,
     arrived_lost integer NOT NULL DEFAULT 0,
     last_arrival_at bigint,
     acknowledged_at bigint
   )`,
  `CREATE TABLE inbox.subscription (
     id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
     digest text NOT NULL,
     url text NOT NULL,
     events text NOT NULL,
     secret_label text NOT NULL,
     state smallint NOT NULL,
     at bigint NOT NULL,
     answer text
   )`,
  `CREATE TABLE inbox.replica (
     id text PRIMARY KEY,
     version text NOT NULL,
     started_at timestamptz NOT NULL,
     beat_at timestamptz NOT NULL,
     load jsonb NOT NULL,
     handlers jsonb
   )`,
  `CREATE TABLE inbox.clock_shift (
     id bigint PRIMARY KEY,
     back_ms bigint NOT NULL,
     due_after bigint NOT NULL,
     next_run bigint NOT NULL,
     last_run bigint NOT NULL
   )`,
  `CREATE TABLE inbox.meta (name text PRIMARY KEY, value bigint NOT NULL)`,
]

/**
 * Removes headers that earlier versions stored and that may contain secrets. TRUNCATE removes the old rows from the disk. Sets that become
 * equal keep their ids, because changing events is slow in a large table. So the text is no longer unique.
 */
async function reduceStoredHeaders(trx: Rows): Promise<void> {
  await trx.query('LOCK TABLE inbox.header_set IN ACCESS EXCLUSIVE MODE')
  const sets = await trx.query<{ id: number; headers: string }>('SELECT id, headers FROM inbox.header_set')
  await trx.query('TRUNCATE inbox.header_set')
  await trx.query('DROP INDEX inbox.header_set_headers')
  await trx.query('CREATE INDEX header_set_headers ON inbox.header_set (md5(headers))')
  await trx.query(
    `INSERT INTO inbox.header_set (id, headers) OVERRIDING SYSTEM VALUE SELECT * FROM unnest($1::integer[], $2::text[])`,
    [sets.map(({ id }) => id), sets.map(({ headers }) => reduceHeaders(headers))],
  )
}

/**
 * `tally`: accepted events per minute of receipt (since 1970), type, network ('' for none) and replica. `hour`: first and last
 * accept-sequence number received in an hour. `secret_use`: first and last use of each secret. All three are filled from the stored
 * events; the lock keeps replicas from accepting during that.
 */
const tallies: Up = [
  `LOCK TABLE inbox.counter IN ACCESS EXCLUSIVE MODE`,
  `CREATE TABLE inbox.tally (
     minute integer NOT NULL,
     type text COLLATE "C" NOT NULL,
     network text COLLATE "C" NOT NULL,
     replica text COLLATE "C" NOT NULL DEFAULT '',
     count bigint NOT NULL,
     PRIMARY KEY (minute, type, network, replica)
   ) WITH (fillfactor = 50)`,
  `CREATE TABLE inbox.hour (hour integer PRIMARY KEY, first_seq bigint NOT NULL, last_seq bigint NOT NULL) WITH (fillfactor = 50)`,
  `CREATE TABLE inbox.secret_use (
     label text COLLATE "C" PRIMARY KEY,
     first_at bigint NOT NULL,
     last_at bigint NOT NULL,
     count bigint NOT NULL
   ) WITH (fillfactor = 10)`,
  `INSERT INTO inbox.hour SELECT received_at / 3600000, min(seq), max(seq) FROM inbox.event GROUP BY 1`,
  `INSERT INTO inbox.secret_use
     SELECT secret_label, min(received_at), max(received_at), count(*) FROM inbox.event GROUP BY 1`,
  `INSERT INTO inbox.tally (minute, type, network, count)
     SELECT received_at / 60000, type, CASE WHEN strpos(key, ':') > 0 THEN split_part(key, ':', 1) ELSE '' END, count(*)
     FROM inbox.event WHERE received_at >= ((SELECT max(hour) FROM inbox.hour)::bigint * 60 - ${keptTallyMinutes}) * 60000
     GROUP BY 1, 2, 3`,
  // The search index of earlier versions.
  `DROP TABLE IF EXISTS inbox.index_meta, inbox.index_event, inbox.index_kind, inbox.index_tally, inbox.index_hour,
     inbox.index_cadence, inbox.index_drift, inbox.index_secret, inbox.index_wallet`,
  `CREATE INDEX event_key ON inbox.event (key, seq) WHERE key IS NOT NULL`,
]

/** Times come from the database's clock, so data about replicas' clocks is dropped. Older programs can't run on this schema. */
const databaseClock: Up = [`DROP TABLE inbox.clock_shift`, `DELETE FROM inbox.meta WHERE name = 'seen_at'`]

/**
 * Routes of handlers: see `Definitions`. `route`: types, order and key paths as JSON; `digest`: its SHA-256. `since`: first registration.
 * `unheld_at`: since when no replica holds it; null if one does. `counter.definitions` counts changes of the table. Older programs can't run
 * on this schema, because they create runs only of handlers that they have loaded themselves.
 */
const definitions: Up = [
  `CREATE TABLE inbox.definition (
     handler text COLLATE "C" NOT NULL,
     digest text COLLATE "C" NOT NULL,
     route text NOT NULL,
     since bigint NOT NULL,
     unheld_at bigint,
     PRIMARY KEY (handler, digest)
   )`,
  `ALTER TABLE inbox.counter ADD definitions bigint NOT NULL DEFAULT 0`,
  `ALTER TABLE inbox.handler DROP first_seq`,
  `UPDATE inbox.replica SET handlers = NULL`,
]

/**
 * `stable_digest`: see `NewEvent`. `source_key`: fetched public keys. Older programs can't run on this schema: they would give events of
 * other sources to handlers of the default source.
 */
const sources: Up = [
  `ALTER TABLE inbox.event ADD stable_digest text COLLATE "C"`,
  `CREATE TABLE inbox.source_key (
     source text COLLATE "C" NOT NULL,
     id text COLLATE "C" NOT NULL,
     spki text NOT NULL,
     PRIMARY KEY (source, id)
   )`,
]

export const migrations: readonly Migration[] = [
  { name: '0001-initial', oldest: 1, up: initial },
  { name: '0002-stored-headers', oldest: 1, up: reduceStoredHeaders },
  { name: '0003-tallies', oldest: 1, up: tallies },
  { name: '0004-database-clock', oldest: 4, up: databaseClock },
  { name: '0005-definitions', oldest: 5, up: definitions },
  { name: '0006-sources', oldest: 6, up: sources },
]
