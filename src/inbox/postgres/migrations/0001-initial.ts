/**
 * The tables of the SQLite adapter, plus cluster tables: `counter`, `lane` (see locks.ts), `replica`, and the owner of a run.
 * `run.state` is an index into `runStates` of the port: 0 waiting, 1 ready, 2 suspect, 3 running, 4 held, 5 dead, 6 done, and other final
 * states. `event.final_status` is an index into `eventStatuses`, set when the event is pruned. `run.replay_id` is 0 for live runs.
 * `handler.first_seq`: the handler gets no events before this number. `replay.state` is an index into `replayStates`,
 * `subscription.state` into `subscriptionStates`. Text from outside is stored by `toStored` and sorted by bytes. Times are milliseconds
 * since 1970.
 */
export const initial: readonly string[] = [
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
