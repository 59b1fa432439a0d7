import { callSettings, hotSettings, sharedLock } from '../locks.ts'
import { keptTallyMinutes, prunedMinutes } from '../../tally.ts'

/** Maximum stored sets of headers: a sender whose headers differ in every delivery must not fill the database. */
export const maxHeaderSets = 1_000

/**
 * Stores a batch of deliveries in one transaction, in array order, and creates their runs. Arrays cost a tenth of JSON here, and PL/pgSQL
 * accesses their elements directly. This comment is not part of the SQL: a changed SQL text has to be installed by `migrate`.
 *
 * Returns one letter per delivery in `results`: `a`ccepted, `d`uplicate, `c`onflict or `q`uarantined. Accepted events get the numbers
 * after `last_before`, in order. For the other results, see `create_runs`.
 *
 * `ids`: null for a delivery that is not an event, or whose id occurs earlier in the batch. `new_headers`: headers without a known set.
 * `other_…`: position, id and quarantine reason of the deliveries that are null in `ids` (null reason: an event). `known_definitions`:
 * version of the definitions that the runs were planned by; if it has changed, `results` is null and nothing is stored. The other
 * parameters go to `create_runs`.
 */
const acceptFunction = `
CREATE FUNCTION inbox.accept(ids text[], types text[], created text[], received bigint[], stored_after bigint[], keys text[], labels text[],
  header_sets integer[], traces text[], bodies bytea[], new_headers text[], other_at integer[], other_ids text[], other_reasons text[],
  known_definitions bigint, handlers text[], slot_handler integer[], slot_key text[], run_at integer[], run_slot integer[],
  offer_handlers text[], offer_owners text[], offer_claims bigint[], offer_room integer[],
  OUT results text, OUT last_before bigint, OUT are_ready boolean, OUT given_at integer[], OUT given_runs bigint[], OUT given_claims bigint[])
LANGUAGE plpgsql
${callSettings} AS $$
DECLARE
  now_ms bigint := inbox.now_ms();
  size integer := cardinality(bodies);
  total bigint;
  version bigint;
  seqs bigint[];
  fresh integer;
  again record;
BEGIN
  PERFORM ${sharedLock};
  SELECT c.last_seq, c.body_bytes, c.definitions INTO last_before, total, version FROM inbox.counter c FOR UPDATE;
  IF version <> known_definitions THEN
    RETURN;
  END IF;

  -- A separate statement, because it has to see all commits before the lock. Null: not new.
  SELECT array_agg(CASE WHEN f.is_new THEN last_before + f.nth END ORDER BY f.n), count(*) FILTER (WHERE f.is_new) INTO seqs, fresh FROM (
    SELECT g.n, g.is_new, count(*) FILTER (WHERE g.is_new) OVER (ORDER BY g.n) AS nth FROM (
      SELECT n, e.is_there IS NULL AND ids[n] IS NOT NULL AS is_new FROM generate_series(1, size) n
      LEFT JOIN LATERAL (SELECT true AS is_there FROM inbox.event o WHERE o.id = ids[n] LIMIT 1) e ON true
    ) g
  ) f;

  IF fresh > 0 THEN
    IF new_headers IS NOT NULL THEN
      header_sets := inbox.keep_headers(seqs, header_sets, new_headers);
    END IF;
    INSERT INTO inbox.event (seq, id, type, created_at, received_at, key, secret_label, stored_ms, header_set, trace)
    SELECT seqs[n], ids[n], types[n], created[n], received[n], keys[n], labels[n], stored_after[n], header_sets[n], traces[n]
    FROM generate_series(1, size) n WHERE seqs[n] IS NOT NULL;
    INSERT INTO inbox.body (seq, total, raw)
    SELECT seqs[n], total + sum(length(bodies[n])) OVER (ORDER BY n), bodies[n]
    FROM generate_series(1, size) n WHERE seqs[n] IS NOT NULL;
    PERFORM inbox.count_events(seqs, types, received, keys, labels);
    UPDATE inbox.counter SET last_seq = last_before + fresh, body_bytes = total + (
      SELECT sum(length(bodies[n])) FROM generate_series(1, size) n WHERE seqs[n] IS NOT NULL);
    SELECT r.* INTO are_ready, given_at, given_runs, given_claims
    FROM inbox.create_runs(seqs, handlers, slot_handler, slot_key, run_at, run_slot, offer_handlers, offer_owners, offer_claims,
      offer_room, now_ms) r;
    IF are_ready THEN
      PERFORM pg_notify('inbox_wake', '');
    END IF;
  END IF;

  results := repeat('a', fresh);
  IF fresh = size THEN
    RETURN;
  END IF;
  results := '';
  FOR again IN
    SELECT n, o.reason, o.id AS other_id, e.seq, b.raw IS NULL OR b.raw = bodies[n] AS is_same
    FROM generate_series(1, size) n
    LEFT JOIN unnest(other_at, other_ids, other_reasons) o(at, id, reason) ON o.at = n
    LEFT JOIN inbox.event e ON e.id = CASE WHEN seqs[n] IS NULL AND o.reason IS NULL THEN coalesce(ids[n], o.id) END
    LEFT JOIN inbox.body b ON b.seq = e.seq
    ORDER BY n
  LOOP
    IF seqs[again.n] IS NOT NULL THEN
      results := results || 'a';
    ELSIF again.reason IS NOT NULL THEN
      PERFORM inbox.quarantine_body(again.other_id, again.reason, received[again.n], labels[again.n], bodies[again.n]);
      results := results || 'q';
    ELSIF again.is_same THEN
      INSERT INTO inbox.redelivery AS r (event_seq, count, last_at) VALUES (again.seq, 1, received[again.n])
        ON CONFLICT (event_seq) DO UPDATE SET count = r.count + 1, last_at = excluded.last_at;
      results := results || 'd';
    ELSE
      INSERT INTO inbox.conflict AS c (event_seq, digest, received_at, count, raw)
        VALUES (again.seq, encode(sha256(bodies[again.n]), 'hex'), received[again.n], 1, bodies[again.n])
        ON CONFLICT (event_seq, digest) DO UPDATE SET count = c.count + 1;
      results := results || 'c';
    END IF;
  END LOOP;
END $$`

/**
 * Stores new sets of headers while there is room, and returns the set of each event by place. Distinct texts count: migration 0002 left
 * equal sets.
 */
const keepHeadersFunction = `
CREATE FUNCTION inbox.keep_headers(seqs bigint[], known integer[], new_headers text[]) RETURNS integer[]
LANGUAGE plpgsql SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  INSERT INTO inbox.header_set (headers)
  SELECT u.headers FROM (
    SELECT new_headers[n] AS headers, min(n) AS place FROM generate_series(1, cardinality(seqs)) n
    WHERE seqs[n] IS NOT NULL AND new_headers[n] IS NOT NULL GROUP BY new_headers[n]
  ) u
  WHERE NOT EXISTS (SELECT FROM inbox.header_set h WHERE md5(h.headers) = md5(u.headers)) ORDER BY u.place
  LIMIT greatest(0, ${maxHeaderSets} - (SELECT count(DISTINCT headers) FROM inbox.header_set));
  RETURN (
    SELECT array_agg(coalesce(known[n], (
      SELECT min(h.id) FROM inbox.header_set h WHERE md5(h.headers) = md5(new_headers[n]) AND h.headers = new_headers[n]
    )) ORDER BY n) FROM generate_series(1, cardinality(seqs)) n);
END $$`

/** Stores a quarantined body, or counts a repeated one. */
const quarantineFunction = `
CREATE FUNCTION inbox.quarantine_body(body_id text, why text, received bigint, label text, bytes bytea) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE inbox.quarantine q SET count = q.count + 1 WHERE q.id = body_id;
  IF NOT FOUND THEN
    INSERT INTO inbox.quarantine (id, reason, received_at, secret_label, count, total, raw) VALUES (body_id, why, received, label, 1,
      coalesce((SELECT l.total FROM inbox.quarantine l ORDER BY l.seq DESC LIMIT 1), 0) + length(bytes), bytes);
  END IF;
END $$`

/** Maximum runs superseded at once. Usually one; more only if a handler became `latestOnly` with a backlog. */
const maxSuperseded = 500

/**
 * Creates the live runs of new events. `seqs[run_at[n]]` is the event of a run, null if the event is not new. A slot is a handler with a
 * key, or with none. A run waits behind open runs of its key. Unknown handlers and handlers with a backfill in progress get no runs.
 *
 * `offer_…`: waiting claims of one handler each, and how many runs they take. They get the first runs of their keys directly.
 * `are_ready`: other runs are claimable. `given_at`: positions in `run_at` of the runs given to claims; `given_runs` and `given_claims`
 * are their ids.
 *
 * A slot without an open run needs no lane: another accept waits for the counter, and an operator action waits for this transaction. Only a
 * settle with an item for the same handler and key can create an open run. The index run_one detects that: one of the two fails and is
 * tried again.
 */
const createRunsFunction = `
CREATE FUNCTION inbox.create_runs(seqs bigint[], handlers text[], slot_handler integer[], slot_key text[],
  run_at integer[], run_slot integer[], offer_handlers text[], offer_owners text[], offer_claims bigint[], offer_room integer[],
  now_ms bigint, OUT are_ready boolean, OUT given_at integer[], OUT given_runs bigint[], OUT given_claims bigint[])
LANGUAGE plpgsql ${hotSettings} AS $$
DECLARE
  handler_ids integer[];
  latest boolean[];
  busy boolean[];
  is_any_busy boolean;
BEGIN
  SELECT array_agg(h.id ORDER BY u.n), array_agg(h.latest_only ORDER BY u.n) INTO handler_ids, latest
  FROM unnest(handlers) WITH ORDINALITY u(name, n) LEFT JOIN inbox.handler h ON h.name = u.name AND h.backfill_seq IS NULL;

  SELECT array_agg(o.is_open ORDER BY s), bool_or(o.is_open) INTO busy, is_any_busy FROM generate_series(1, cardinality(slot_key)) s
  LEFT JOIN LATERAL (
    SELECT true AS is_open FROM inbox.run r
    WHERE r.handler_id = handler_ids[slot_handler[s]] AND r.replay_id = 0 AND r.key = slot_key[s] AND r.state < 5 LIMIT 1
  ) o ON true;

  IF true = ANY (latest) AND (is_any_busy OR cardinality(run_at) > cardinality(slot_key)) THEN
    PERFORM 1 FROM inbox.handler h
    WHERE h.id IN (SELECT handler_ids[n] FROM generate_series(1, cardinality(handlers)) n WHERE latest[n]) ORDER BY h.id FOR NO KEY UPDATE;
  END IF;
  IF is_any_busy THEN
    -- Until the lanes are locked, other runs of a key may end. So open runs are searched again below.
    PERFORM 1 FROM inbox.lane l WHERE l.id IN (
      SELECT inbox.lane_of(handler_ids[slot_handler[s]], 0, slot_key[s]) FROM generate_series(1, cardinality(slot_key)) s WHERE busy[s]
    ) ORDER BY l.id FOR NO KEY UPDATE;
    PERFORM inbox.supersede(handler_ids[slot_handler[u.s]], slot_key[u.s], now_ms) FROM (
      SELECT DISTINCT run_slot[n] AS s FROM generate_series(1, cardinality(run_at)) n WHERE seqs[run_at[n]] IS NOT NULL
    ) u
    WHERE busy[u.s] AND latest[slot_handler[u.s]];
    SELECT array_agg(o.is_open ORDER BY s) INTO busy FROM generate_series(1, cardinality(slot_key)) s
    LEFT JOIN LATERAL (
      SELECT true AS is_open FROM inbox.run r
      WHERE busy[s] AND r.handler_id = handler_ids[slot_handler[s]] AND r.replay_id = 0 AND r.key = slot_key[s] AND r.state < 5 LIMIT 1
    ) o ON true;
  END IF;

  WITH wanted AS (
    SELECT n, run_slot[n] AS slot,
      lag(n) OVER same_slot IS NULL AS is_first, lead(n) OVER same_slot IS NULL AS is_last
    FROM generate_series(1, cardinality(run_at)) n
    WHERE seqs[run_at[n]] IS NOT NULL AND handler_ids[slot_handler[run_slot[n]]] IS NOT NULL
    WINDOW same_slot AS (PARTITION BY run_slot[n] ORDER BY n)
  ), placed AS (
    SELECT w.n, handler_ids[slot_handler[w.slot]] AS handler, slot_key[w.slot] AS key, CASE
        WHEN slot_key[w.slot] IS NULL THEN 1
        WHEN latest[slot_handler[w.slot]] AND NOT w.is_last THEN 8
        WHEN busy[w.slot] THEN 0
        WHEN w.is_first OR latest[slot_handler[w.slot]] THEN 1
        ELSE 0 END AS state
    FROM wanted w
  ), offered AS MATERIALIZED (
    SELECT h.id AS handler, o.owner, o.claim, sum(o.room) OVER (PARTITION BY h.id ORDER BY o.n) AS up_to
    FROM unnest(offer_handlers, offer_owners, offer_claims, offer_room) WITH ORDINALITY o(name, owner, claim, room, n)
    JOIN inbox.handler h ON h.name = o.name AND NOT h.paused
    WHERE NOT EXISTS (SELECT 1 FROM inbox.meta m WHERE m.name = 'paused' AND m.value = 1)
  ), made AS MATERIALIZED (
    SELECT nextval('inbox.run_id') AS id, p.*, g.owner, g.claim
    FROM (
      SELECT p.*, count(*) FILTER (WHERE p.state = 1) OVER (PARTITION BY p.handler ORDER BY p.n) AS nth FROM placed p ORDER BY p.n
    ) p LEFT JOIN LATERAL (
      SELECT o.owner, o.claim FROM offered o WHERE o.handler = p.handler AND p.state = 1 AND p.nth <= o.up_to ORDER BY o.up_to LIMIT 1
    ) g ON true
  ), inserted AS (
    INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, key, state, run_at, attempt, token, owner, claim_id, started_at, ended_at)
    SELECT m.id, seqs[run_at[m.n]], m.handler, 0, m.key, CASE WHEN m.claim IS NULL THEN m.state ELSE 3 END, now_ms,
      (m.claim IS NOT NULL)::integer, (m.claim IS NOT NULL)::integer, m.owner, m.claim, CASE WHEN m.claim IS NOT NULL THEN now_ms END,
      CASE WHEN m.state = 8 THEN now_ms END
    FROM made m ORDER BY m.id
  ), counted AS (
    UPDATE inbox.handler h SET superseded = h.superseded + s.count
    FROM (SELECT m.handler, count(*) AS count FROM made m WHERE m.state = 8 GROUP BY m.handler) s WHERE h.id = s.handler
  )
  SELECT coalesce(bool_or(m.state = 1 AND m.claim IS NULL), false), array_agg(m.n) FILTER (WHERE m.claim IS NOT NULL),
    array_agg(m.id) FILTER (WHERE m.claim IS NOT NULL), array_agg(m.claim) FILTER (WHERE m.claim IS NOT NULL)
  INTO are_ready, given_at, given_runs, given_claims FROM made m;
END $$`

/** Supersedes the live runs of a key that are not running. */
const supersedeFunction = `
CREATE FUNCTION inbox.supersede(of_handler integer, of_key text, now_ms bigint) RETURNS void LANGUAGE plpgsql
${hotSettings} AS $$
DECLARE
  waiting bigint[];
  head bigint;
  older integer;
BEGIN
  SELECT array_agg(o.id) FILTER (WHERE o.state = 0), max(o.id) FILTER (WHERE o.state = 1), count(*) INTO waiting, head, older FROM (
    SELECT r.id, r.state FROM inbox.run r
    WHERE r.handler_id = of_handler AND r.replay_id = 0 AND r.key = of_key AND r.state < 5
    ORDER BY r.handler_id, r.replay_id, r.key, r.id LIMIT ${maxSuperseded}
  ) o;
  -- If runs are left for the next call, the ready run stays, because they wait behind it. A run that is being claimed stays too.
  UPDATE inbox.run r SET state = 8, crashed = 0, ended_at = now_ms WHERE r.id IN (
    SELECT p.id FROM inbox.run p WHERE p.id = head AND p.state + 0 = 1 AND older < ${maxSuperseded} FOR UPDATE SKIP LOCKED);
  IF NOT FOUND THEN
    head := NULL;
  END IF;
  UPDATE inbox.run r SET state = 8, crashed = 0, ended_at = now_ms WHERE r.id = ANY (waiting);
  UPDATE inbox.handler h SET superseded = h.superseded + coalesce(cardinality(waiting), 0) + (head IS NOT NULL)::integer
  WHERE h.id = of_handler AND (head IS NOT NULL OR waiting IS NOT NULL);
END $$`

/**
 * Counts new events: those with a number in `seqs`. `tally` has separate rows per replica, summed when read, so that replicas don't wait
 * for each other's rows.
 */
const countFunction = `
CREATE OR REPLACE FUNCTION inbox.count_events(seqs bigint[], types text[], received bigint[], keys text[], labels text[]) RETURNS void
LANGUAGE plpgsql SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  begun integer;
BEGIN
  INSERT INTO inbox.tally AS t (minute, type, network, replica, count)
  SELECT received[n] / 60000, types[n], CASE WHEN strpos(keys[n], ':') > 0 THEN split_part(keys[n], ':', 1) ELSE '' END,
    current_setting('application_name'), count(*)
  FROM generate_series(1, cardinality(seqs)) n WHERE seqs[n] IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  ON CONFLICT (minute, type, network, replica) DO UPDATE SET count = t.count + excluded.count;

  WITH hours AS (
    INSERT INTO inbox.hour AS h (hour, first_seq, last_seq)
    SELECT received[n] / 3600000, min(seqs[n]), max(seqs[n])
    FROM generate_series(1, cardinality(seqs)) n WHERE seqs[n] IS NOT NULL GROUP BY 1
    ON CONFLICT (hour) DO UPDATE SET last_seq = excluded.last_seq RETURNING h.hour, h.xmax = 0 AS is_new
  ) SELECT max(hour) INTO begun FROM hours WHERE is_new;

  INSERT INTO inbox.secret_use AS s (label, first_at, last_at, count)
  SELECT labels[n], min(received[n]), max(received[n]), count(*)
  FROM generate_series(1, cardinality(seqs)) n WHERE seqs[n] IS NOT NULL GROUP BY 1
  ON CONFLICT (label) DO UPDATE SET last_at = greatest(s.last_at, excluded.last_at), count = s.count + excluded.count;

  IF begun IS NOT NULL THEN
    DELETE FROM inbox.tally WHERE minute <
      least(begun * 60 - ${keptTallyMinutes}, (SELECT min(minute) FROM inbox.tally) + ${prunedMinutes});
  END IF;
END $$`

export const acceptFunctions: readonly string[] = [
  acceptFunction,
  countFunction,
  keepHeadersFunction,
  quarantineFunction,
  createRunsFunction,
  supersedeFunction,
]
