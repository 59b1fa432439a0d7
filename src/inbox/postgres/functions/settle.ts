import { isOpen, replayState, runState as state } from '../../run-sql.ts'
import { callSettings, hotSettings, isRunning, sharedLock } from '../locks.ts'

/*
 * Functions that end leases with outcomes. `settle` is one transaction per batch:
 *
 *   1. lock what the outcomes touch, in the order of `locks.ts`
 *   2. check the state that runs have read, and write theirs (`keep_state`); a run whose reads are outdated gets the verdict `conflict`
 *   3. set the states of the runs (`end_leases`)
 *   4. make the next runs of their keys ready (`promote`)
 *   5. create runs for outbox items (`create_items`), and delete expired state (`purge_state`)
 */

/**
 * For each key of the changed runs: makes its oldest waiting run ready, unless a run of the key is claimable, running or held. The caller
 * has locked the lanes, or holds the exclusive lock. Returns how many became ready. With the limit in `blocker`, the planner looks up each
 * key, even if its statistics are from a time without open runs.
 */
const promoteFunction = `
CREATE FUNCTION inbox.promote(changed bigint[]) RETURNS integer LANGUAGE plpgsql ${hotSettings} AS $$
DECLARE
  promoted integer;
BEGIN
  UPDATE inbox.run SET state = ${state.ready} FROM (
    SELECT oldest.id
    FROM (
      SELECT DISTINCT ended.handler_id, ended.replay_id, ended.key FROM unnest(changed) listed(id) JOIN inbox.run ended ON ended.id = listed.id
      WHERE ended.key IS NOT NULL
    ) key_of CROSS JOIN LATERAL (
      SELECT open.id, open.state FROM inbox.run open
      WHERE open.handler_id = key_of.handler_id AND open.replay_id = key_of.replay_id AND open.key = key_of.key AND ${isOpen('open.')}
      ORDER BY open.handler_id, open.replay_id, open.key, open.id LIMIT 1
    ) oldest LEFT JOIN LATERAL (
      SELECT true AS is_there FROM inbox.run first
      WHERE first.handler_id = key_of.handler_id AND first.replay_id = key_of.replay_id AND first.key = key_of.key
        AND first.state >= ${state.ready} AND first.state <= ${state.held} LIMIT 1
    ) blocker ON true
    WHERE oldest.state = ${state.waiting} AND blocker.is_there IS NULL
  ) next
  WHERE run.id = next.id AND run.state + 0 = ${state.waiting};
  GET DIAGNOSTICS promoted = ROW_COUNT;
  RETURN promoted;
END $$`

/** True for a run of a cancelled replay, which is not retried. Outbox items continue: they belong to completed runs. */
const isCancelledFunction = `
CREATE FUNCTION inbox.is_cancelled(run bigint, of_replay integer) RETURNS boolean LANGUAGE plpgsql STABLE ${hotSettings} AS $$
BEGIN
  RETURN of_replay > 0
    AND EXISTS (SELECT 1 FROM inbox.replay WHERE replay.id = of_replay AND replay.state = ${replayState.cancelled})
    AND NOT EXISTS (SELECT 1 FROM inbox.item WHERE item.run_id = run);
END $$`

/**
 * Returns places of outcomes, from 1: `applied` or `conflicts`; the others are stale. Of two outcomes for a lease, the first counts.
 * `are_ready`: runs may have become claimable.
 *
 * The arrays have an element per outcome. `kinds`: the kind of the `Outcome`, or `release`. `waits`, `starts`, `ends`: when a postponed run
 * is due, and when the attempt started and ended, in milliseconds from now. `error_groups`: of dead letters. JSON arrays: `errors` of
 * `{place, name, message, stack}`, `states` of `{place, version, reads, writes}` (see `keep_state`), `items` of `{place, sink, key,
 * payload, idempotencyKey}`. Deletes up to `max_purged` expired state entries.
 */
const settleFunction = `
CREATE FUNCTION inbox.settle(runs bigint[], tokens bigint[], kinds text[], waits bigint[], starts bigint[], ends bigint[],
  error_groups text[], errors json, states json, items json, max_purged integer,
  OUT applied integer[], OUT conflicts integer[], OUT are_ready boolean)
LANGUAGE plpgsql ${callSettings} AS $$
DECLARE
  now_ms bigint := inbox.now_ms();
  has_items boolean := json_array_length(items) > 0;
  has_state boolean := json_array_length(states) > 0;
  -- An element per outcome that is not stale.
  places integer[];
  ids bigint[];
  verdicts text[];
  due bigint[];
  began bigint[];
  ended bigint[];
  groups text[];
  effect record;
  nth integer;
  promoted integer;
BEGIN
  PERFORM ${sharedLock};
  -- Handlers whose state is read or written, or whose count of superseded runs may change.
  IF has_state OR kinds && '{retry,snooze,release}' THEN
    PERFORM 1 FROM inbox.handler WHERE handler.id IN (
      SELECT run.handler_id FROM json_to_recordset(states) AS effects(place integer) JOIN inbox.run ON run.id = runs[effects.place]
      UNION ALL
      SELECT run.handler_id FROM unnest(runs, kinds) AS outcome(id, kind) JOIN inbox.run ON run.id = outcome.id
      JOIN inbox.handler latest ON latest.id = run.handler_id
      WHERE outcome.kind IN ('retry', 'snooze', 'release') AND latest.latest_only
    ) ORDER BY handler.id FOR NO KEY UPDATE;
  END IF;
  IF has_items THEN
    INSERT INTO inbox.handler (name)
      SELECT DISTINCT new_item.sink FROM json_to_recordset(items) AS new_item(place integer, sink text)
      JOIN inbox.run ON run.id = runs[new_item.place] AND ${isRunning('run.')} AND run.token = tokens[new_item.place]
      WHERE NOT EXISTS (SELECT 1 FROM inbox.handler WHERE handler.name = new_item.sink) ORDER BY 1
      ON CONFLICT (name) DO NOTHING;
  END IF;
  PERFORM 1 FROM inbox.lane WHERE lane.id IN (
    SELECT inbox.lane_of(run.handler_id, run.replay_id, run.key) FROM unnest(runs) AS outcome(id) JOIN inbox.run ON run.id = outcome.id
    WHERE run.key IS NOT NULL
    UNION ALL
    SELECT inbox.lane_of(sink.id, run.replay_id, new_item.key) FROM json_to_recordset(items) AS new_item(place integer, sink text, key text)
    JOIN inbox.run ON run.id = runs[new_item.place] JOIN inbox.handler sink ON sink.name = new_item.sink
    WHERE has_items AND new_item.key IS NOT NULL
  ) ORDER BY lane.id FOR NO KEY UPDATE;

  -- The usual case, in one statement: all outcomes are done, without state.
  IF kinds <@ '{done}' AND NOT has_state THEN
    WITH settled AS (
      UPDATE inbox.run SET state = ${state.done}, crashed = 0, started_at = outcome.began, ended_at = outcome.ended, owner = NULL
      FROM (
        SELECT DISTINCT ON (listed.id, listed.token) listed.id, listed.token, listed.place, now_ms + listed.began AS began,
          now_ms + listed.ended AS ended
        FROM unnest(runs, tokens, starts, ends) WITH ORDINALITY AS listed(id, token, began, ended, place)
        ORDER BY listed.id, listed.token, listed.place
      ) outcome
      WHERE run.id = outcome.id AND ${isRunning('run.')} AND run.token = outcome.token
      RETURNING outcome.place::integer AS place, run.id
    )
    SELECT coalesce(array_agg(settled.place), '{}'), coalesce(array_agg(settled.id), '{}'), coalesce(array_agg('done'::text), '{}')
    INTO places, ids, verdicts FROM settled;
  ELSE
    SELECT coalesce(array_agg(leased.place), '{}'), coalesce(array_agg(leased.id), '{}'), array_agg(leased.kind), array_agg(leased.due),
      array_agg(leased.began), array_agg(leased.ended), array_agg(leased.error_group)
    INTO places, ids, verdicts, due, began, ended, groups
    FROM (
      SELECT outcome.place::integer AS place, outcome.id, outcome.kind, now_ms + outcome.wait AS due, now_ms + outcome.began AS began,
        now_ms + outcome.ended AS ended, outcome.error_group
      FROM (
        SELECT DISTINCT ON (listed.id, listed.token) listed.*
        FROM unnest(runs, tokens, kinds, waits, starts, ends, error_groups) WITH ORDINALITY
          AS listed(id, token, kind, wait, began, ended, error_group, place)
        ORDER BY listed.id, listed.token, listed.place
      ) outcome JOIN inbox.run ON run.id = outcome.id
      WHERE ${isRunning('run.')} AND run.token = outcome.token
      ORDER BY run.id FOR NO KEY UPDATE OF run
    ) leased;

    -- In order, because a run may have read state that an earlier run of this call writes.
    FOR effect IN SELECT listed.* FROM json_to_recordset(states) AS listed(place integer, version bigint, reads json, writes json) LOOP
      nth := array_position(places, effect.place);
      CONTINUE WHEN nth IS NULL;
      IF NOT inbox.keep_state((SELECT run.handler_id FROM inbox.run WHERE run.id = ids[nth]), effect.version, effect.reads, effect.writes,
        now_ms)
      THEN
        verdicts[nth] := 'conflict';
      END IF;
    END LOOP;

    IF json_array_length(errors) > 0 THEN
      INSERT INTO inbox.attempt (run_id, attempt, started_at, ended_at, outcome, error_name, error_message, error_stack)
        SELECT run.id, run.attempt, outcome.began, outcome.ended, outcome.kind, error.name, error.message, error.stack
        FROM json_to_recordset(errors) AS error(place integer, name text, message text, stack text)
        JOIN unnest(places, ids, verdicts, began, ended) AS outcome(place, id, kind, began, ended) ON outcome.place = error.place
        JOIN inbox.run ON run.id = outcome.id
        ORDER BY error.place;
    END IF;
    PERFORM inbox.end_leases(ids, verdicts, due, began, ended, groups, now_ms);
  END IF;
  promoted := inbox.promote(ids);
  IF has_items THEN
    PERFORM inbox.create_items(items, array_agg(outcome.place), array_agg(outcome.id), now_ms)
      FROM unnest(places, ids, verdicts) AS outcome(place, id, kind) WHERE outcome.kind = 'done';
  END IF;
  IF max_purged > 0 THEN
    PERFORM inbox.purge_state(max_purged, now_ms);
  END IF;
  are_ready := promoted > 0 OR has_items OR verdicts && '{retry,snooze,release,conflict}';
  IF are_ready THEN
    PERFORM pg_notify('inbox_wake', '');
  END IF;
  SELECT array_agg(outcome.place) FILTER (WHERE outcome.kind <> 'conflict'), array_agg(outcome.place) FILTER (WHERE outcome.kind = 'conflict')
  INTO applied, conflicts FROM unnest(places, verdicts) AS outcome(place, kind);
END $$`

/**
 * Sets the states of running runs by their verdicts. The caller has locked their rows and lanes. Instead of a retry, a run is dropped if
 * its replay was cancelled, or superseded if the handler is `latestOnly` and its key has a newer live run. `release` and `conflict` restore
 * the state before the claim.
 */
const endLeasesFunction = `
CREATE FUNCTION inbox.end_leases(ids bigint[], verdicts text[], due bigint[], began bigint[], ended bigint[], error_groups text[],
  now_ms bigint)
RETURNS void LANGUAGE plpgsql ${hotSettings} AS $$
BEGIN
  UPDATE inbox.run SET
    state = verdict.next,
    run_at = CASE WHEN verdict.kind IN ('retry', 'snooze') AND verdict.next = ${state.ready} THEN verdict.due ELSE run.run_at END,
    attempt = run.attempt - CASE WHEN verdict.kind IN ('done', 'dead', 'retry') THEN 0 ELSE 1 END,
    failed = run.failed + CASE WHEN verdict.kind = 'retry' AND verdict.next = ${state.ready} THEN 1 ELSE 0 END,
    crashed = CASE WHEN verdict.kind IN ('release', 'conflict') AND verdict.next <= ${state.suspect} THEN run.crashed ELSE 0 END,
    started_at = CASE WHEN verdict.kind IN ('done', 'dead') THEN verdict.began ELSE run.started_at END,
    ended_at = CASE
      WHEN verdict.next IN (${state.superseded}, ${state.dropped}) THEN now_ms
      WHEN verdict.next >= ${state.held} THEN verdict.ended
      ELSE run.ended_at END,
    error_group = CASE WHEN verdict.kind = 'dead' THEN verdict.error_group ELSE run.error_group END,
    owner = NULL
  FROM (
    SELECT listed.*, CASE
        WHEN listed.kind = 'done' THEN ${state.done}
        WHEN listed.kind = 'dead' THEN CASE WHEN before.key IS NOT NULL AND handler.holds THEN ${state.held} ELSE ${state.dead} END
        WHEN listed.kind = 'expired' THEN ${state.expired}
        WHEN listed.kind = 'unmatched' THEN ${state.unmatched}
        WHEN before.replay_id > 0 AND inbox.is_cancelled(before.id, before.replay_id) THEN ${state.dropped}
        WHEN handler.latest_only AND before.replay_id = 0 AND (
          SELECT true FROM inbox.run newer
          WHERE newer.handler_id = before.handler_id AND newer.replay_id = 0 AND newer.key = before.key AND ${isOpen('newer.')}
            AND newer.id > before.id LIMIT 1) THEN ${state.superseded}
        WHEN listed.kind IN ('release', 'conflict') AND before.crashed > 0 THEN ${state.suspect}
        ELSE ${state.ready} END AS next
    FROM unnest(ids, verdicts, due, began, ended, error_groups) AS listed(id, kind, due, began, ended, error_group)
    JOIN inbox.run before ON before.id = listed.id JOIN inbox.handler ON handler.id = before.handler_id
  ) verdict
  WHERE run.id = verdict.id;
  IF verdicts && '{retry,snooze,release,conflict}' THEN
    UPDATE inbox.handler SET superseded = superseded + sums.count
    FROM (
      SELECT run.handler_id, count(*) AS count FROM unnest(ids) AS listed(id) JOIN inbox.run ON run.id = listed.id
      WHERE run.state + 0 = ${state.superseded} GROUP BY run.handler_id
    ) sums WHERE handler.id = sums.handler_id;
  END IF;
END $$`

/**
 * Writes a run's state entries, unless entries that it read have changed: then returns false and writes nothing. The caller has locked the
 * row of the handler.
 *
 * `reads`: JSON array of `{from, to, most, keys, versions}`, the first `most` keys from `from` until before `to` and the result.
 * `writes`: JSON array of `{key, value, expiresIn}`, at most one per key. `expiresIn`: milliseconds from now, or null. Earlier versions send
 * the time `expiresAt` instead.
 */
const keepStateFunction = `
CREATE FUNCTION inbox.keep_state(of_handler integer, new_version bigint, reads json, writes json, now_ms bigint)
RETURNS boolean LANGUAGE plpgsql ${hotSettings} AS $$
BEGIN
  IF EXISTS (
    SELECT 1
    FROM json_to_recordset(reads) AS read("from" text, "to" text, most integer, keys text[], versions bigint[])
    CROSS JOIN LATERAL (
      SELECT coalesce(array_agg(entry.key ORDER BY entry.key), '{}') AS keys,
        coalesce(array_agg(entry.version ORDER BY entry.key), '{}') AS versions
      FROM (
        SELECT state.key, state.version FROM inbox.state
        WHERE state.handler_id = of_handler AND state.key >= read."from" AND state.key < read."to"
          AND (state.expires_at IS NULL OR state.expires_at > now_ms)
        ORDER BY state.key LIMIT read.most
      ) entry
    ) present
    WHERE present.keys <> read.keys OR present.versions <> read.versions
  ) THEN
    RETURN false;
  END IF;
  DELETE FROM inbox.state USING json_to_recordset(writes) AS written(key text, value text)
    WHERE written.value IS NULL AND state.handler_id = of_handler AND state.key = written.key;
  INSERT INTO inbox.state (handler_id, key, value, version, expires_at)
    SELECT of_handler, written.key, written.value, new_version, coalesce(now_ms + written."expiresIn", written."expiresAt")
    FROM json_to_recordset(writes) AS written(key text, value text, "expiresIn" bigint, "expiresAt" bigint)
    WHERE written.value IS NOT NULL
    ON CONFLICT (handler_id, key) DO UPDATE
    SET value = excluded.value, version = excluded.version, expires_at = excluded.expires_at;
  RETURN true;
END $$`

/** Deletes up to `max_purged` expired state entries of any handler, except locked ones. */
const purgeStateFunction = `
CREATE FUNCTION inbox.purge_state(max_purged integer, now_ms bigint) RETURNS void LANGUAGE plpgsql ${hotSettings} AS $$
BEGIN
  WITH expired AS MATERIALIZED (
    SELECT state.handler_id, state.key FROM inbox.state WHERE state.expires_at IS NOT NULL AND state.expires_at <= now_ms
    ORDER BY state.expires_at LIMIT max_purged FOR UPDATE SKIP LOCKED
  )
  DELETE FROM inbox.state USING expired WHERE state.handler_id = expired.handler_id AND state.key = expired.key;
END $$`

/**
 * Creates runs of sinks for outbox items, in the replay (or live) of the run that left them, behind open runs of their key. The caller has
 * locked the lanes and created the sinks. `items`: see `settle`. `runs` and `places`: the applied runs and their places.
 */
const createItemsFunction = `
CREATE FUNCTION inbox.create_items(items json, places integer[], runs bigint[], now_ms bigint)
RETURNS void LANGUAGE plpgsql ${hotSettings} AS $$
BEGIN
  WITH new_item AS MATERIALIZED (
    SELECT sink.id AS handler, origin.replay_id AS replay, listed.key, listed.payload, listed.idempotency_key, listed.nth, origin.event_seq,
      row_number() OVER (PARTITION BY sink.id, origin.replay_id, listed.key ORDER BY listed.nth) AS nth_of_key
    FROM (
      SELECT sent.place, sent.sink, sent.key, sent.payload, sent."idempotencyKey" AS idempotency_key, row_number() OVER () AS nth
      FROM json_to_recordset(items) AS sent(place integer, sink text, key text, payload text, "idempotencyKey" text)
    ) listed
    JOIN unnest(places, runs) AS outcome(place, run) ON outcome.place = listed.place
    JOIN inbox.run origin ON origin.id = outcome.run
    JOIN inbox.handler sink ON sink.name = listed.sink
  ), numbered AS MATERIALIZED (
    SELECT nextval('inbox.run_id') AS id, sorted.* FROM (SELECT * FROM new_item ORDER BY nth) sorted
  ), created AS (
    INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, key, state, run_at)
    SELECT numbered.id, numbered.event_seq, numbered.handler, numbered.replay, numbered.key, CASE
        WHEN numbered.key IS NULL THEN ${state.ready}
        WHEN numbered.nth_of_key = 1 AND older.is_open IS NULL THEN ${state.ready}
        ELSE ${state.waiting} END,
      now_ms
    FROM numbered LEFT JOIN LATERAL (
      SELECT true AS is_open FROM inbox.run
      WHERE run.handler_id = numbered.handler AND run.replay_id = numbered.replay AND run.key = numbered.key AND ${isOpen('run.')} LIMIT 1
    ) older ON true
    ORDER BY numbered.id
  )
  INSERT INTO inbox.item (run_id, payload, idempotency_key) SELECT id, payload, idempotency_key FROM numbered;
END $$`

export const settleFunctions: readonly string[] = [
  promoteFunction,
  isCancelledFunction,
  settleFunction,
  endLeasesFunction,
  keepStateFunction,
  purgeStateFunction,
  createItemsFunction,
]
