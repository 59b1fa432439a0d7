import { maxHeaderSets, maxSuperseded } from '../../limits.ts'
import { isOpen, runState as state } from '../../run-sql.ts'
import { keptTallyMinutes, prunedMinutes } from '../../tally.ts'
import { callSettings, hotSettings, sharedLock } from '../locks.ts'

/*
 * Functions that store deliveries. `accept` is one transaction per batch:
 *
 *   1. lock the counter, so that accepts follow each other, and number the new events
 *   2. insert events, bodies and tallies (`count_events`, `keep_headers`)
 *   3. create the live runs of the new events, and lease some of them to waiting claims (`create_runs`, `supersede`)
 *   4. for each other delivery: count a duplicate, record a conflict, or quarantine it (`quarantine_body`)
 *
 * A batch is a set of arrays with an element per delivery: arrays cost a tenth of JSON here, and PL/pgSQL accesses their elements directly.
 * `place` is a position in them, from 1. Comments stand here, not in the SQL, because `migrate` installs every changed SQL text.
 */

/**
 * Returns one letter per delivery in `results`: `a`ccepted, `d`uplicate, `c`onflict or `q`uarantined. Accepted events get the numbers
 * after `last_before`, in order. For the other results and for the parameters from `handlers` on, see `create_runs`.
 *
 * `ids`: null for a delivery that is not an event, or whose id occurs earlier in the batch. `new_headers`: headers without a known set.
 * `stable_digests`: null if no event has one. `other_…`: place, id and quarantine reason of the deliveries that are null in `ids` (null reason: an event). `known_definitions`: version
 * of the definitions that the runs were planned by; if it has changed, `results` is null and nothing is stored.
 */
const acceptFunction = `
CREATE FUNCTION inbox.accept(ids text[], types text[], created text[], received bigint[], stored_after bigint[], keys text[], labels text[],
  header_sets integer[], traces text[], bodies bytea[], new_headers text[], other_places integer[], other_ids text[], other_reasons text[],
  known_definitions bigint, handlers text[], slot_handlers integer[], slot_keys text[], run_events integer[], run_slots integer[],
  offer_handlers text[], offer_owners text[], offer_claims bigint[], offer_rooms integer[], stable_digests text[],
  OUT results text, OUT last_before bigint, OUT are_ready boolean, OUT given_at integer[], OUT given_runs bigint[], OUT given_claims bigint[])
LANGUAGE plpgsql
${callSettings} AS $$
DECLARE
  now_ms bigint := inbox.now_ms();
  size integer := cardinality(bodies);
  total bigint;
  version bigint;
  -- The number of each new event; null for other deliveries.
  seqs bigint[];
  accepted integer;
  delivery record;
BEGIN
  PERFORM ${sharedLock};
  SELECT counter.last_seq, counter.body_bytes, counter.definitions INTO last_before, total, version FROM inbox.counter FOR UPDATE;
  IF version <> known_definitions THEN
    RETURN;
  END IF;

  -- A separate statement, because it has to see all commits before the lock.
  SELECT array_agg(CASE WHEN numbered.is_new THEN last_before + numbered.nth END ORDER BY numbered.place),
    count(*) FILTER (WHERE numbered.is_new) INTO seqs, accepted
  FROM (
    SELECT checked.place, checked.is_new, count(*) FILTER (WHERE checked.is_new) OVER (ORDER BY checked.place) AS nth FROM (
      SELECT place, stored.is_there IS NULL AND ids[place] IS NOT NULL AS is_new FROM generate_series(1, size) place
      LEFT JOIN LATERAL (SELECT true AS is_there FROM inbox.event WHERE event.id = ids[place] LIMIT 1) stored ON true
    ) checked
  ) numbered;

  IF accepted > 0 THEN
    IF new_headers IS NOT NULL THEN
      header_sets := inbox.keep_headers(seqs, header_sets, new_headers);
    END IF;
    INSERT INTO inbox.event (seq, id, type, created_at, received_at, key, secret_label, stored_ms, header_set, trace, stable_digest)
    SELECT seqs[place], ids[place], types[place], created[place], received[place], keys[place], labels[place], stored_after[place],
      header_sets[place], traces[place], stable_digests[place]
    FROM generate_series(1, size) place WHERE seqs[place] IS NOT NULL;
    INSERT INTO inbox.body (seq, total, raw)
    SELECT seqs[place], total + sum(length(bodies[place])) OVER (ORDER BY place), bodies[place]
    FROM generate_series(1, size) place WHERE seqs[place] IS NOT NULL;
    PERFORM inbox.count_events(seqs, types, received, keys, labels);
    UPDATE inbox.counter SET last_seq = last_before + accepted, body_bytes = total + (
      SELECT sum(length(bodies[place])) FROM generate_series(1, size) place WHERE seqs[place] IS NOT NULL);
    SELECT created_runs.* INTO are_ready, given_at, given_runs, given_claims
    FROM inbox.create_runs(seqs, handlers, slot_handlers, slot_keys, run_events, run_slots, offer_handlers, offer_owners, offer_claims,
      offer_rooms, now_ms) created_runs;
    IF are_ready THEN
      PERFORM pg_notify('inbox_wake', '');
    END IF;
  END IF;

  results := repeat('a', accepted);
  IF accepted = size THEN
    RETURN;
  END IF;
  results := '';
  FOR delivery IN
    SELECT place, other.reason, other.id AS other_id, event.seq,
      body.raw IS NULL OR body.raw = bodies[place] OR event.stable_digest = stable_digests[place] AS is_same
    FROM generate_series(1, size) place
    LEFT JOIN unnest(other_places, other_ids, other_reasons) other(at_place, id, reason) ON other.at_place = place
    LEFT JOIN inbox.event ON event.id = CASE WHEN seqs[place] IS NULL AND other.reason IS NULL THEN coalesce(ids[place], other.id) END
    LEFT JOIN inbox.body ON body.seq = event.seq
    ORDER BY place
  LOOP
    IF seqs[delivery.place] IS NOT NULL THEN
      results := results || 'a';
    ELSIF delivery.reason IS NOT NULL THEN
      PERFORM inbox.quarantine_body(delivery.other_id, delivery.reason, received[delivery.place], labels[delivery.place],
        bodies[delivery.place]);
      results := results || 'q';
    ELSIF delivery.is_same THEN
      INSERT INTO inbox.redelivery AS known (event_seq, count, last_at) VALUES (delivery.seq, 1, received[delivery.place])
        ON CONFLICT (event_seq) DO UPDATE SET count = known.count + 1, last_at = excluded.last_at;
      results := results || 'd';
    ELSE
      INSERT INTO inbox.conflict AS known (event_seq, digest, received_at, count, raw)
        VALUES (delivery.seq, encode(sha256(bodies[delivery.place]), 'hex'), received[delivery.place], 1, bodies[delivery.place])
        ON CONFLICT (event_seq, digest) DO UPDATE SET count = known.count + 1;
      results := results || 'c';
    END IF;
  END LOOP;
END $$`

/** Settings of functions that may scan a table as a whole, because it is small. */
const smallTables = `SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan`

/**
 * Stores new sets of headers while there is room, and returns the set of each event by place. Distinct texts count: migration 0002 left
 * equal sets.
 */
const keepHeadersFunction = `
CREATE FUNCTION inbox.keep_headers(seqs bigint[], known_sets integer[], new_headers text[]) RETURNS integer[]
LANGUAGE plpgsql ${smallTables} AS $$
BEGIN
  INSERT INTO inbox.header_set (headers)
  SELECT fresh.headers FROM (
    SELECT new_headers[place] AS headers, min(place) AS first_place FROM generate_series(1, cardinality(seqs)) place
    WHERE seqs[place] IS NOT NULL AND new_headers[place] IS NOT NULL GROUP BY new_headers[place]
  ) fresh
  WHERE NOT EXISTS (SELECT FROM inbox.header_set WHERE md5(header_set.headers) = md5(fresh.headers)) ORDER BY fresh.first_place
  LIMIT greatest(0, ${maxHeaderSets} - (SELECT count(DISTINCT headers) FROM inbox.header_set));
  RETURN (
    SELECT array_agg(coalesce(known_sets[place], (
      SELECT min(header_set.id) FROM inbox.header_set
      WHERE md5(header_set.headers) = md5(new_headers[place]) AND header_set.headers = new_headers[place]
    )) ORDER BY place) FROM generate_series(1, cardinality(seqs)) place);
END $$`

/** Stores a quarantined body, or counts a repeated one. */
const quarantineFunction = `
CREATE FUNCTION inbox.quarantine_body(body_id text, reason text, received bigint, label text, bytes bytea) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE inbox.quarantine SET count = count + 1 WHERE id = body_id;
  IF NOT FOUND THEN
    INSERT INTO inbox.quarantine (id, reason, received_at, secret_label, count, total, raw) VALUES (body_id, reason, received, label, 1,
      coalesce((SELECT latest.total FROM inbox.quarantine latest ORDER BY latest.seq DESC LIMIT 1), 0) + length(bytes), bytes);
  END IF;
END $$`

/**
 * Sets `busy[slot]` to true if the slot has an open run, else null. A slot is a handler and a key (null: no key). `among`: condition on the
 * slot.
 */
const findBusySlots = (among: string): string => `
  SELECT array_agg(other.is_open ORDER BY slot) INTO busy FROM generate_series(1, cardinality(slot_keys)) slot
  LEFT JOIN LATERAL (
    SELECT true AS is_open FROM inbox.run
    WHERE ${among} AND run.handler_id = handler_ids[slot_handlers[slot]] AND run.replay_id = 0 AND run.key = slot_keys[slot]
      AND ${isOpen('run.')} LIMIT 1
  ) other ON true;`

/**
 * Creates the live runs of new events. A run waits behind open runs of its key. Unknown handlers and handlers with a backfill in progress
 * get no runs.
 *
 * Runs with the same handler and key share a slot, also runs with no key. `slot_handlers`: places in `handlers`. A run is the place of its
 * event in `seqs` (`run_events`) and of its slot (`run_slots`); it is created only if the event is new. `offer_…`: waiting claims of one
 * handler each, and how many runs they take. They get the first runs of their keys directly.
 *
 * `are_ready`: other runs are claimable. `given_at`: places in `run_events` of the runs leased to claims; `given_runs` and `given_claims` are
 * their ids.
 *
 * A slot without an open run needs no lock on its lane (`locks.ts`): another accept waits for the counter, and an operator action waits for
 * this transaction. Only a settle with an item for the same handler and key can create an open run. The index run_one detects that: one of
 * the two fails and is tried again.
 */
const createRunsFunction = `
CREATE FUNCTION inbox.create_runs(seqs bigint[], handlers text[], slot_handlers integer[], slot_keys text[],
  run_events integer[], run_slots integer[], offer_handlers text[], offer_owners text[], offer_claims bigint[], offer_rooms integer[],
  now_ms bigint, OUT are_ready boolean, OUT given_at integer[], OUT given_runs bigint[], OUT given_claims bigint[])
LANGUAGE plpgsql ${hotSettings} AS $$
DECLARE
  handler_ids integer[];
  supersede_older boolean[];
  busy boolean[];
BEGIN
  SELECT array_agg(handler.id ORDER BY named.place), array_agg(handler.latest_only ORDER BY named.place) INTO handler_ids, supersede_older
  FROM unnest(handlers) WITH ORDINALITY named(name, place)
  LEFT JOIN inbox.handler ON handler.name = named.name AND handler.backfill_seq IS NULL;
  ${findBusySlots('true')}

  IF true = ANY (supersede_older) AND (true = ANY (busy) OR cardinality(run_events) > cardinality(slot_keys)) THEN
    PERFORM 1 FROM inbox.handler
    WHERE handler.id IN (SELECT handler_ids[place] FROM generate_series(1, cardinality(handlers)) place WHERE supersede_older[place])
    ORDER BY handler.id FOR NO KEY UPDATE;
  END IF;
  IF true = ANY (busy) THEN
    PERFORM 1 FROM inbox.lane WHERE lane.id IN (
      SELECT inbox.lane_of(handler_ids[slot_handlers[slot]], 0, slot_keys[slot]) FROM generate_series(1, cardinality(slot_keys)) slot
      WHERE busy[slot]
    ) ORDER BY lane.id FOR NO KEY UPDATE;
    PERFORM inbox.supersede(handler_ids[slot_handlers[taken.slot]], slot_keys[taken.slot], now_ms) FROM (
      SELECT DISTINCT run_slots[place] AS slot FROM generate_series(1, cardinality(run_events)) place
      WHERE seqs[run_events[place]] IS NOT NULL
    ) taken
    WHERE busy[taken.slot] AND supersede_older[slot_handlers[taken.slot]];
    -- Until the lanes were locked, other runs of a key may have ended.
    ${findBusySlots('busy[slot]')}
  END IF;

  WITH wanted AS (
    SELECT place, run_slots[place] AS slot,
      lag(place) OVER same_slot IS NULL AS is_first, lead(place) OVER same_slot IS NULL AS is_last
    FROM generate_series(1, cardinality(run_events)) place
    WHERE seqs[run_events[place]] IS NOT NULL AND handler_ids[slot_handlers[run_slots[place]]] IS NOT NULL
    WINDOW same_slot AS (PARTITION BY run_slots[place] ORDER BY place)
  ), placed AS (
    SELECT wanted.place, handler_ids[slot_handlers[wanted.slot]] AS handler, slot_keys[wanted.slot] AS key, CASE
        WHEN slot_keys[wanted.slot] IS NULL THEN ${state.ready}
        WHEN supersede_older[slot_handlers[wanted.slot]] AND NOT wanted.is_last THEN ${state.superseded}
        WHEN busy[wanted.slot] THEN ${state.waiting}
        WHEN wanted.is_first OR supersede_older[slot_handlers[wanted.slot]] THEN ${state.ready}
        ELSE ${state.waiting} END AS state
    FROM wanted
  ), counted AS (
    SELECT placed.*, count(*) FILTER (WHERE placed.state = ${state.ready}) OVER (PARTITION BY placed.handler ORDER BY placed.place) AS nth_ready
    FROM placed ORDER BY placed.place
  ), offered AS MATERIALIZED (
    SELECT handler.id AS handler, offer.owner, offer.claim, sum(offer.room) OVER (PARTITION BY handler.id ORDER BY offer.place) AS last_nth
    FROM unnest(offer_handlers, offer_owners, offer_claims, offer_rooms) WITH ORDINALITY offer(name, owner, claim, room, place)
    JOIN inbox.handler ON handler.name = offer.name AND NOT handler.paused
    WHERE NOT EXISTS (SELECT 1 FROM inbox.meta WHERE meta.name = 'paused' AND meta.value = 1)
  ), leased AS MATERIALIZED (
    SELECT nextval('inbox.run_id') AS id, counted.*, taker.owner, taker.claim
    FROM counted LEFT JOIN LATERAL (
      SELECT offered.owner, offered.claim FROM offered
      WHERE offered.handler = counted.handler AND counted.state = ${state.ready} AND counted.nth_ready <= offered.last_nth
      ORDER BY offered.last_nth LIMIT 1
    ) taker ON true
  ), inserted AS (
    INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, key, state, run_at, attempt, token, owner, claim_id, started_at, ended_at)
    SELECT id, seqs[run_events[place]], handler, 0, key, CASE WHEN claim IS NULL THEN state ELSE ${state.running} END, now_ms,
      (claim IS NOT NULL)::integer, (claim IS NOT NULL)::integer, owner, claim, CASE WHEN claim IS NOT NULL THEN now_ms END,
      CASE WHEN state = ${state.superseded} THEN now_ms END
    FROM leased ORDER BY id
  ), noted AS (
    UPDATE inbox.handler SET superseded = handler.superseded + sums.count
    FROM (SELECT handler, count(*) AS count FROM leased WHERE state = ${state.superseded} GROUP BY handler) sums
    WHERE handler.id = sums.handler
  )
  SELECT coalesce(bool_or(state = ${state.ready} AND claim IS NULL), false), array_agg(place) FILTER (WHERE claim IS NOT NULL),
    array_agg(id) FILTER (WHERE claim IS NOT NULL), array_agg(claim) FILTER (WHERE claim IS NOT NULL)
  INTO are_ready, given_at, given_runs, given_claims FROM leased;
END $$`

/**
 * Supersedes the live runs of a key that are not running. If runs are left for the next call, the ready run stays, because they wait behind
 * it. A run that is being claimed stays too.
 */
const supersedeFunction = `
CREATE FUNCTION inbox.supersede(of_handler integer, of_key text, now_ms bigint) RETURNS void LANGUAGE plpgsql
${hotSettings} AS $$
DECLARE
  waiting bigint[];
  first_ready bigint;
  open_runs integer;
BEGIN
  SELECT array_agg(older.id) FILTER (WHERE older.state = ${state.waiting}), max(older.id) FILTER (WHERE older.state = ${state.ready}), count(*)
  INTO waiting, first_ready, open_runs FROM (
    SELECT run.id, run.state FROM inbox.run
    WHERE run.handler_id = of_handler AND run.replay_id = 0 AND run.key = of_key AND ${isOpen('run.')}
    ORDER BY run.handler_id, run.replay_id, run.key, run.id LIMIT ${maxSuperseded}
  ) older;
  UPDATE inbox.run SET state = ${state.superseded}, crashed = 0, ended_at = now_ms WHERE run.id IN (
    SELECT ready.id FROM inbox.run ready WHERE ready.id = first_ready AND ready.state + 0 = ${state.ready} AND open_runs < ${maxSuperseded}
    FOR UPDATE SKIP LOCKED);
  IF NOT FOUND THEN
    first_ready := NULL;
  END IF;
  UPDATE inbox.run SET state = ${state.superseded}, crashed = 0, ended_at = now_ms WHERE run.id = ANY (waiting);
  UPDATE inbox.handler SET superseded = superseded + coalesce(cardinality(waiting), 0) + (first_ready IS NOT NULL)::integer
  WHERE handler.id = of_handler AND (first_ready IS NOT NULL OR waiting IS NOT NULL);
END $$`

/**
 * Counts new events: those with a number in `seqs`. `tally` has separate rows per replica, summed when read, so that replicas don't wait
 * for each other's rows. Types of other sources than the default one are `<source>/<type>`. Prunes old minutes when an hour begins.
 */
const countFunction = `
CREATE FUNCTION inbox.count_events(seqs bigint[], types text[], received bigint[], keys text[], labels text[]) RETURNS void
LANGUAGE plpgsql ${smallTables} AS $$
DECLARE
  begun_hour integer;
BEGIN
  INSERT INTO inbox.tally AS known (minute, type, network, replica, count)
  SELECT received[place] / 60000,
    CASE WHEN strpos(labels[place], '/') > 0 THEN split_part(labels[place], '/', 1) || '/' ELSE '' END || types[place], CASE WHEN strpos(keys[place], ':') > 0 THEN split_part(keys[place], ':', 1) ELSE '' END,
    current_setting('application_name'), count(*)
  FROM generate_series(1, cardinality(seqs)) place WHERE seqs[place] IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 1, 2, 3
  ON CONFLICT (minute, type, network, replica) DO UPDATE SET count = known.count + excluded.count;

  WITH hours AS (
    INSERT INTO inbox.hour AS known (hour, first_seq, last_seq)
    SELECT received[place] / 3600000, min(seqs[place]), max(seqs[place])
    FROM generate_series(1, cardinality(seqs)) place WHERE seqs[place] IS NOT NULL GROUP BY 1
    ON CONFLICT (hour) DO UPDATE SET last_seq = excluded.last_seq RETURNING known.hour, known.xmax = 0 AS is_new
  ) SELECT max(hour) INTO begun_hour FROM hours WHERE is_new;

  INSERT INTO inbox.secret_use AS known (label, first_at, last_at, count)
  SELECT labels[place], min(received[place]), max(received[place]), count(*)
  FROM generate_series(1, cardinality(seqs)) place WHERE seqs[place] IS NOT NULL GROUP BY 1
  ON CONFLICT (label) DO UPDATE SET last_at = greatest(known.last_at, excluded.last_at), count = known.count + excluded.count;

  IF begun_hour IS NOT NULL THEN
    DELETE FROM inbox.tally WHERE minute <
      least(begun_hour * 60 - ${keptTallyMinutes}, (SELECT min(minute) FROM inbox.tally) + ${prunedMinutes});
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
