import { replayStates } from '../../port.ts'
import { workLock } from '../locks.ts'
import { callSettings, hotSettings } from './promote.ts'

/** Whether a run of a cancelled replay is not to be tried again. What runs left in the outbox goes on: it belongs to what is done. */
export const isCancelledFunction = `
CREATE OR REPLACE FUNCTION inbox.is_cancelled(run bigint, replay integer) RETURNS boolean LANGUAGE plpgsql STABLE ${hotSettings} AS $$
BEGIN
  RETURN replay > 0 AND EXISTS (SELECT 1 FROM inbox.replay p WHERE p.id = replay AND p.state = ${replayStates.indexOf('cancelled')})
    AND NOT EXISTS (SELECT 1 FROM inbox.item i WHERE i.run_id = run);
END $$`

/**
 * Ends leases with what became of their runs, in one transaction. Gives the places, from 1, of the reports that hold: `applied`, or
 * `conflicts`; the others are stale. Of two reports on a lease the first one holds. `are_ready`: there may be something to claim that was
 * not before.
 *
 * The arrays have an element for each report. `kinds` are those of an `Outcome`, and `release`; `ats` says when a run that is put off is
 * due; `groups` are those of the errors of dead letters. `errors` is a JSON array of `{place, name, message, stack}`; `states` one of
 * `{place, version, reads, writes}` (see `keep_state`), for reports that read or write state; `items` one of `{place, sink, key, payload,
 * idempotencyKey}`. Up to `purged` values that have expired are deleted.
 */
export const settleFunction = `
CREATE OR REPLACE FUNCTION inbox.settle(runs bigint[], tokens bigint[], kinds text[], ats bigint[], starts bigint[], ends bigint[],
  groups text[], errors json, states json, items json, purged integer, now_ms bigint,
  OUT applied integer[], OUT conflicts integer[], OUT are_ready boolean)
LANGUAGE plpgsql ${callSettings} AS $$
DECLARE
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
  PERFORM ${workLock};
  -- Those whose state is read or written, and those of whom something may be counted as superseded.
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

  -- As a rule all is done, and has no effects here: one statement.
  IF kinds <@ '{done}' AND NOT has_state THEN
    WITH settled AS (
      UPDATE inbox.run r SET state = 6, crashed = 0, started_at = g.began, ended_at = g.ended, owner = NULL
      FROM (
        SELECT DISTINCT ON (u.id, u.token) u.*
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
      SELECT g.place::integer AS place, g.id, g.kind, g.at, g.began, g.ended, g.grouped FROM (
        SELECT DISTINCT ON (u.id, u.token) u.*
        FROM unnest(runs, tokens, kinds, ats, starts, ends, groups) WITH ORDINALITY AS u(id, token, kind, at, began, ended, grouped, place)
        ORDER BY u.id, u.token, u.place
      ) g JOIN inbox.run r ON r.id = g.id
      WHERE r.state + 0 = 3 AND r.token = g.token
      ORDER BY r.id FOR NO KEY UPDATE OF r
    ) f;

    -- One after the other: a run may build on what another one of the same call writes.
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
 * Moves runs that are running to where their verdicts say; the caller has their rows and lanes. One that would be tried again is dropped
 * if its replay was cancelled, and superseded if there is a newer live one of its key and only the latest counts. What is given back
 * unworked (`release`, `conflict`) is as if it had never been claimed.
 */
export const endLeasesFunction = `
CREATE OR REPLACE FUNCTION inbox.end_leases(ids bigint[], verdicts text[], due bigint[], began bigint[], ended bigint[], group_of text[],
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
