import { replayStates } from '../../port.ts'
import { callSettings, hotSettings, sharedLock } from '../locks.ts'

/**
 * Makes the oldest waiting run of each key of changed runs ready, unless another run of the key is claimable, running or held. The caller
 * has locked the lanes, or is exclusive. Returns how many became ready. With the limit in `other`, the planner looks up each key, even if
 * its statistics are from a time without open runs.
 */
const promoteFunction = `
CREATE FUNCTION inbox.promote(changed bigint[]) RETURNS integer LANGUAGE plpgsql ${hotSettings} AS $$
DECLARE
  promoted integer;
BEGIN
  UPDATE inbox.run r SET state = 1 FROM (
    SELECT n.id
    FROM (
      SELECT DISTINCT e.handler_id, e.replay_id, e.key FROM unnest(changed) u(id) JOIN inbox.run e ON e.id = u.id
      WHERE e.key IS NOT NULL
    ) p CROSS JOIN LATERAL (
      SELECT o.id, o.state FROM inbox.run o
      WHERE o.handler_id = p.handler_id AND o.replay_id = p.replay_id AND o.key = p.key AND o.state < 5
      ORDER BY o.handler_id, o.replay_id, o.key, o.id LIMIT 1
    ) n LEFT JOIN LATERAL (
      SELECT true AS is_there FROM inbox.run z
      WHERE z.handler_id = p.handler_id AND z.replay_id = p.replay_id AND z.key = p.key AND z.state >= 1 AND z.state <= 4 LIMIT 1
    ) other ON true
    WHERE n.state = 0 AND other.is_there IS NULL
  ) next
  WHERE r.id = next.id AND r.state + 0 = 0;
  GET DIAGNOSTICS promoted = ROW_COUNT;
  RETURN promoted;
END $$`

/** True for a run of a cancelled replay, which is not retried. Outbox items continue: they belong to completed runs. */
const isCancelledFunction = `
CREATE FUNCTION inbox.is_cancelled(run bigint, replay integer) RETURNS boolean LANGUAGE plpgsql STABLE ${hotSettings} AS $$
BEGIN
  RETURN replay > 0 AND EXISTS (SELECT 1 FROM inbox.replay p WHERE p.id = replay AND p.state = ${replayStates.indexOf('cancelled')})
    AND NOT EXISTS (SELECT 1 FROM inbox.item i WHERE i.run_id = run);
END $$`

/**
 * Ends leases in one transaction. Returns positions of outcomes, from 1: `applied` or `conflicts`; the others are stale. Of two outcomes
 * for a lease, the first counts. `are_ready`: runs may have become claimable.
 *
 * The arrays have an element per outcome. `kinds`: the kind of the `Outcome`, or `release`. `waits`, `starts`, `ends`: when a postponed run
 * is due, and when the attempt started and ended, in milliseconds from now. `groups`: error groups of dead letters. JSON arrays: `errors`
 * of `{place, name, message, stack}`, `states` of `{place, version, reads, writes}` (see `keep_state`), `items` of `{place, sink, key,
 * payload, idempotencyKey}`. Deletes up to `purged` expired state entries.
 */
const settleFunction = `
CREATE FUNCTION inbox.settle(runs bigint[], tokens bigint[], kinds text[], waits bigint[], starts bigint[], ends bigint[],
  groups text[], errors json, states json, items json, purged integer,
  OUT applied integer[], OUT conflicts integer[], OUT are_ready boolean)
LANGUAGE plpgsql ${callSettings} AS $$
DECLARE
  now_ms bigint := inbox.now_ms();
  has_items boolean := json_array_length(items) > 0;
  has_state boolean := json_array_length(states) > 0;
  places integer[];
  ids bigint[];
  verdicts text[];
  due bigint[];
  began bigint[];
  ended bigint[];
  group_of text[];
  effect record;
  at integer;
  promoted integer;
BEGIN
  PERFORM ${sharedLock};
  -- Handlers whose state is read or written, or whose count of superseded runs may change.
  IF has_state OR kinds && '{retry,snooze,release}' THEN
    PERFORM 1 FROM inbox.handler h WHERE h.id IN (
      SELECT r.handler_id FROM json_to_recordset(states) AS s(place integer) JOIN inbox.run r ON r.id = runs[s.place]
      UNION ALL
      SELECT r.handler_id FROM unnest(runs, kinds) AS u(id, kind) JOIN inbox.run r ON r.id = u.id
      JOIN inbox.handler l ON l.id = r.handler_id WHERE u.kind IN ('retry', 'snooze', 'release') AND l.latest_only
    ) ORDER BY h.id FOR NO KEY UPDATE;
  END IF;
  IF has_items THEN
    INSERT INTO inbox.handler (name)
      SELECT DISTINCT i.sink FROM json_to_recordset(items) AS i(place integer, sink text)
      JOIN inbox.run r ON r.id = runs[i.place] AND r.state + 0 = 3 AND r.token = tokens[i.place]
      WHERE NOT EXISTS (SELECT 1 FROM inbox.handler h WHERE h.name = i.sink) ORDER BY 1
      ON CONFLICT (name) DO NOTHING;
  END IF;
  PERFORM 1 FROM inbox.lane l WHERE l.id IN (
    SELECT inbox.lane_of(r.handler_id, r.replay_id, r.key) FROM unnest(runs) AS u(id) JOIN inbox.run r ON r.id = u.id
    WHERE r.key IS NOT NULL
    UNION ALL
    SELECT inbox.lane_of(h.id, r.replay_id, i.key) FROM json_to_recordset(items) AS i(place integer, sink text, key text)
    JOIN inbox.run r ON r.id = runs[i.place] JOIN inbox.handler h ON h.name = i.sink
    WHERE has_items AND i.key IS NOT NULL
  ) ORDER BY l.id FOR NO KEY UPDATE;

  -- The usual case, in one statement: all outcomes are done, without state.
  IF kinds <@ '{done}' AND NOT has_state THEN
    WITH settled AS (
      UPDATE inbox.run r SET state = 6, crashed = 0, started_at = g.began, ended_at = g.ended, owner = NULL
      FROM (
        SELECT DISTINCT ON (u.id, u.token) u.id, u.token, u.place, now_ms + u.began AS began, now_ms + u.ended AS ended
        FROM unnest(runs, tokens, starts, ends) WITH ORDINALITY AS u(id, token, began, ended, place)
        ORDER BY u.id, u.token, u.place
      ) g
      WHERE r.id = g.id AND r.state + 0 = 3 AND r.token = g.token
      RETURNING g.place::integer AS place, r.id
    )
    SELECT coalesce(array_agg(s.place), '{}'), coalesce(array_agg(s.id), '{}'), coalesce(array_agg('done'::text), '{}')
    INTO places, ids, verdicts FROM settled s;
  ELSE
    SELECT coalesce(array_agg(f.place), '{}'), coalesce(array_agg(f.id), '{}'), array_agg(f.kind), array_agg(f.at), array_agg(f.began),
      array_agg(f.ended), array_agg(f.grouped)
    INTO places, ids, verdicts, due, began, ended, group_of
    FROM (
      SELECT g.place::integer AS place, g.id, g.kind, now_ms + g.wait AS at, now_ms + g.began AS began, now_ms + g.ended AS ended, g.grouped FROM (
        SELECT DISTINCT ON (u.id, u.token) u.*
        FROM unnest(runs, tokens, kinds, waits, starts, ends, groups) WITH ORDINALITY AS u(id, token, kind, wait, began, ended, grouped, place)
        ORDER BY u.id, u.token, u.place
      ) g JOIN inbox.run r ON r.id = g.id
      WHERE r.state + 0 = 3 AND r.token = g.token
      ORDER BY r.id FOR NO KEY UPDATE OF r
    ) f;

    -- In order, because a run may have read state that an earlier run of this call writes.
    FOR effect IN SELECT s.* FROM json_to_recordset(states) AS s(place integer, version bigint, reads json, writes json) LOOP
      at := array_position(places, effect.place);
      CONTINUE WHEN at IS NULL;
      IF NOT inbox.keep_state((SELECT r.handler_id FROM inbox.run r WHERE r.id = ids[at]), effect.version, effect.reads, effect.writes, now_ms)
      THEN
        verdicts[at] := 'conflict';
      END IF;
    END LOOP;

    IF json_array_length(errors) > 0 THEN
      INSERT INTO inbox.attempt (run_id, attempt, started_at, ended_at, outcome, error_name, error_message, error_stack)
        SELECT r.id, r.attempt, u.began, u.ended, u.kind, e.name, e.message, e.stack
        FROM json_to_recordset(errors) AS e(place integer, name text, message text, stack text)
        JOIN unnest(places, ids, verdicts, began, ended) AS u(place, id, kind, began, ended) ON u.place = e.place
        JOIN inbox.run r ON r.id = u.id
        ORDER BY e.place;
    END IF;
    PERFORM inbox.end_leases(ids, verdicts, due, began, ended, group_of, now_ms);
  END IF;
  promoted := inbox.promote(ids);
  IF has_items THEN
    PERFORM inbox.create_items(items, array_agg(u.place), array_agg(u.id), now_ms)
      FROM unnest(places, ids, verdicts) AS u(place, id, kind) WHERE u.kind = 'done';
  END IF;
  IF purged > 0 THEN
    PERFORM inbox.purge_state(purged, now_ms);
  END IF;
  are_ready := promoted > 0 OR has_items OR verdicts && '{retry,snooze,release,conflict}';
  IF are_ready THEN
    PERFORM pg_notify('inbox_wake', '');
  END IF;
  SELECT array_agg(u.place) FILTER (WHERE u.kind <> 'conflict'), array_agg(u.place) FILTER (WHERE u.kind = 'conflict')
  INTO applied, conflicts FROM unnest(places, verdicts) AS u(place, kind);
END $$`

/**
 * Sets the states of running runs by their verdicts. The caller has locked their rows and lanes. Instead of a retry, a run is dropped if
 * its replay was cancelled, or superseded if the handler is `latestOnly` and its key has a newer live run. `release` and `conflict` restore
 * the state before the claim.
 */
const endLeasesFunction = `
CREATE FUNCTION inbox.end_leases(ids bigint[], verdicts text[], due bigint[], began bigint[], ended bigint[], group_of text[],
  now_ms bigint)
RETURNS void LANGUAGE plpgsql ${hotSettings} AS $$
BEGIN
  UPDATE inbox.run r SET
    state = n.next,
    run_at = CASE WHEN n.kind IN ('retry', 'snooze') AND n.next = 1 THEN n.due ELSE r.run_at END,
    attempt = r.attempt - CASE WHEN n.kind IN ('done', 'dead', 'retry') THEN 0 ELSE 1 END,
    failed = r.failed + CASE WHEN n.kind = 'retry' AND n.next = 1 THEN 1 ELSE 0 END,
    crashed = CASE WHEN n.kind IN ('release', 'conflict') AND n.next <= 2 THEN r.crashed ELSE 0 END,
    started_at = CASE WHEN n.kind IN ('done', 'dead') THEN n.began ELSE r.started_at END,
    ended_at = CASE WHEN n.next IN (8, 10) THEN now_ms WHEN n.next >= 4 THEN n.ended ELSE r.ended_at END,
    error_group = CASE WHEN n.kind = 'dead' THEN n.grouped ELSE r.error_group END,
    owner = NULL
  FROM (
    SELECT u.*, CASE
        WHEN u.kind = 'done' THEN 6
        WHEN u.kind = 'dead' THEN CASE WHEN q.key IS NOT NULL AND h.holds THEN 4 ELSE 5 END
        WHEN u.kind = 'expired' THEN 7
        WHEN u.kind = 'unmatched' THEN 9
        WHEN q.replay_id > 0 AND inbox.is_cancelled(q.id, q.replay_id) THEN 10
        WHEN h.latest_only AND q.replay_id = 0 AND (
          SELECT true FROM inbox.run o
          WHERE o.handler_id = q.handler_id AND o.replay_id = 0 AND o.key = q.key AND o.state < 5 AND o.id > q.id LIMIT 1) THEN 8
        WHEN u.kind IN ('release', 'conflict') AND q.crashed > 0 THEN 2
        ELSE 1 END AS next
    FROM unnest(ids, verdicts, due, began, ended, group_of) AS u(id, kind, due, began, ended, grouped)
    JOIN inbox.run q ON q.id = u.id JOIN inbox.handler h ON h.id = q.handler_id
  ) n
  WHERE r.id = n.id;
  IF verdicts && '{retry,snooze,release,conflict}' THEN
    UPDATE inbox.handler h SET superseded = h.superseded + s.count
    FROM (
      SELECT r.handler_id, count(*) AS count FROM unnest(ids) AS u(id) JOIN inbox.run r ON r.id = u.id WHERE r.state + 0 = 8
      GROUP BY r.handler_id
    ) s WHERE h.id = s.handler_id;
  END IF;
END $$`

/**
 * Writes a run's state entries, unless entries that it read have changed: then returns false and writes nothing. The caller has locked the
 * row of the handler.
 *
 * `reads`: JSON array of `{from, to, most, keys, versions}`, the first `most` keys from `from` until before `to` and the result.
 * `writes`: JSON array of `{key, value, expiresAt}`, at most one per key.
 */
const keepStateFunction = `
CREATE FUNCTION inbox.keep_state(of_handler integer, version_now bigint, reads json, writes json, now_ms bigint)
RETURNS boolean LANGUAGE plpgsql ${hotSettings} AS $$
BEGIN
  IF EXISTS (
    SELECT 1
    FROM json_to_recordset(reads) AS d("from" text, "to" text, most integer, keys text[], versions bigint[])
    CROSS JOIN LATERAL (
      SELECT coalesce(array_agg(f.key ORDER BY f.key), '{}') AS keys, coalesce(array_agg(f.version ORDER BY f.key), '{}') AS versions
      FROM (
        SELECT s.key, s.version FROM inbox.state s
        WHERE s.handler_id = of_handler AND s.key >= d."from" AND s.key < d."to" AND (s.expires_at IS NULL OR s.expires_at > now_ms)
        ORDER BY s.key LIMIT d.most
      ) f
    ) n
    WHERE n.keys <> d.keys OR n.versions <> d.versions
  ) THEN
    RETURN false;
  END IF;
  DELETE FROM inbox.state s USING json_to_recordset(writes) AS w(key text, value text)
    WHERE w.value IS NULL AND s.handler_id = of_handler AND s.key = w.key;
  INSERT INTO inbox.state AS s (handler_id, key, value, version, expires_at)
    SELECT of_handler, w.key, w.value, version_now, w."expiresAt"
    FROM json_to_recordset(writes) AS w(key text, value text, "expiresAt" bigint) WHERE w.value IS NOT NULL
    ON CONFLICT (handler_id, key) DO UPDATE
    SET value = excluded.value, version = excluded.version, expires_at = excluded.expires_at;
  RETURN true;
END $$`

/** Deletes up to `most` expired state entries of any handler, except locked ones. */
const purgeStateFunction = `
CREATE FUNCTION inbox.purge_state(most integer, now_ms bigint) RETURNS void LANGUAGE plpgsql ${hotSettings} AS $$
BEGIN
  WITH gone AS MATERIALIZED (
    SELECT s.handler_id, s.key FROM inbox.state s WHERE s.expires_at IS NOT NULL AND s.expires_at <= now_ms
    ORDER BY s.expires_at LIMIT most FOR UPDATE SKIP LOCKED
  )
  DELETE FROM inbox.state s USING gone g WHERE s.handler_id = g.handler_id AND s.key = g.key;
END $$`

/**
 * Creates runs of sinks for outbox items, in the replay (or live) of the run that left them, behind open runs of their key. The caller has
 * locked the lanes and created the sinks. `items`: see `settle`. `runs` and `places`: the applied runs and their positions.
 */
const createItemsFunction = `
CREATE FUNCTION inbox.create_items(items json, places integer[], runs bigint[], now_ms bigint)
RETURNS void LANGUAGE plpgsql ${hotSettings} AS $$
BEGIN
  WITH left_there AS MATERIALIZED (
    SELECT h.id AS handler, q.replay_id AS replay, i.key, i.payload, i.idempotency, i.nth, q.event_seq,
      row_number() OVER (PARTITION BY h.id, q.replay_id, i.key ORDER BY i.nth) AS nth_of_key
    FROM (
      SELECT j.place, j.sink, j.key, j.payload, j."idempotencyKey" AS idempotency, row_number() OVER () AS nth
      FROM json_to_recordset(items) AS j(place integer, sink text, key text, payload text, "idempotencyKey" text)
    ) i
    JOIN unnest(places, runs) AS u(place, run) ON u.place = i.place
    JOIN inbox.run q ON q.id = u.run
    JOIN inbox.handler h ON h.name = i.sink
  ), made AS MATERIALIZED (
    SELECT nextval('inbox.run_id') AS id, l.* FROM (SELECT t.* FROM left_there t ORDER BY t.nth) l
  ), created AS (
    INSERT INTO inbox.run (id, event_seq, handler_id, replay_id, key, state, run_at)
    SELECT m.id, m.event_seq, m.handler, m.replay, m.key, CASE
        WHEN m.key IS NULL THEN 1
        WHEN m.nth_of_key = 1 AND o.is_open IS NULL THEN 1
        ELSE 0 END,
      now_ms
    FROM made m LEFT JOIN LATERAL (
      SELECT true AS is_open FROM inbox.run p
      WHERE p.handler_id = m.handler AND p.replay_id = m.replay AND p.key = m.key AND p.state < 5 LIMIT 1
    ) o ON true
    ORDER BY m.id
  )
  INSERT INTO inbox.item (run_id, payload, idempotency_key) SELECT m.id, m.payload, m.idempotency FROM made m;
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
