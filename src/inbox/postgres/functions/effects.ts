import { hotSettings } from './promote.ts'

/**
 * Keeps what a run writes to the state of its handler, unless what it read is no longer so: then it is false, and nothing was written.
 * The caller has the row of the handler.
 *
 * `reads` is a JSON array of `{from, to, most, keys, versions}`: of the keys from `from` on and before `to` the first `most`, and what was
 * found; `writes` one of `{key, value, expiresAt}`, no key twice.
 */
export const keepStateFunction = `
CREATE OR REPLACE FUNCTION inbox.keep_state(of_handler integer, version_now bigint, reads json, writes json, now_ms bigint)
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

/** Deletes up to `most` values that have expired, of any handler: but not those that somebody is just writing. */
export const purgeStateFunction = `
CREATE OR REPLACE FUNCTION inbox.purge_state(most integer, now_ms bigint) RETURNS void LANGUAGE plpgsql ${hotSettings} AS $$
BEGIN
  WITH gone AS MATERIALIZED (
    SELECT s.handler_id, s.key FROM inbox.state s WHERE s.expires_at IS NOT NULL AND s.expires_at <= now_ms
    ORDER BY s.expires_at LIMIT most FOR UPDATE SKIP LOCKED
  )
  DELETE FROM inbox.state s USING gone g WHERE s.handler_id = g.handler_id AND s.key = g.key;
END $$`

/**
 * What runs left in the outbox becomes runs of its sinks, each in the generation of the run that left it, behind the open ones of its key.
 * The caller has the lanes, and sees to it that the sinks are known. `items` is as in `settle`; `runs` are those whose items count, `places`
 * where they stand.
 */
export const createItemsFunction = `
CREATE OR REPLACE FUNCTION inbox.create_items(items json, places integer[], runs bigint[], now_ms bigint)
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
