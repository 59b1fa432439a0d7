import { hotSettings } from './promote.ts'

/** At most so many runs of a key are superseded at once; usually there is one, more only where a handler was made `latestOnly` with a backlog. */
const mostSuperseded = 500

/**
 * Creates the live runs of new events. `seqs[at]` is the number of the event that a run is of, null for one that is not new. A run falls
 * on a slot: a handler with a key, or with none. A run stands behind the open ones of its key. A handler that is not known, or is still to
 * get older events, gets none.
 *
 * `offer_…`: claims of one handler each that wait, and how many runs they have room for. What is first of its key is theirs at once.
 * `are_ready`: others can be claimed. `given_at`: the places, in `run_at`, of those that were given to claims; `given_runs`, `given_claims`
 * are their ids.
 *
 * Of a slot without an open run no lane is taken. Who else could open one meanwhile? Another accept waits for the counter, an act for
 * this one. A settle that leaves an item for the same handler and key is found out by the index run_one: one of the two fails, and is
 * tried again.
 */
export const createRunsFunction = `
CREATE OR REPLACE FUNCTION inbox.create_runs(seqs bigint[], handlers text[], latest boolean[], slot_handler integer[], slot_key text[],
  run_at integer[], run_slot integer[], offer_handlers text[], offer_owners text[], offer_claims bigint[], offer_room integer[],
  now_ms bigint, OUT are_ready boolean, OUT given_at integer[], OUT given_runs bigint[], OUT given_claims bigint[])
LANGUAGE plpgsql ${hotSettings} AS $$
DECLARE
  handler_ids integer[];
  busy boolean[];
  is_any_busy boolean;
BEGIN
  SELECT array_agg(h.id ORDER BY u.n) INTO handler_ids
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
    -- Whether somebody is there to wait for is certain only once the lane is held.
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

/** A newer live run of the key comes: what was to be done for the older ones, and is not being done, is not done. */
export const supersedeFunction = `
CREATE OR REPLACE FUNCTION inbox.supersede(of_handler integer, of_key text, now_ms bigint) RETURNS void LANGUAGE plpgsql
${hotSettings} AS $$
DECLARE
  waiting bigint[];
  head bigint;
  older integer;
BEGIN
  SELECT array_agg(o.id) FILTER (WHERE o.state = 0), max(o.id) FILTER (WHERE o.state = 1), count(*) INTO waiting, head, older FROM (
    SELECT r.id, r.state FROM inbox.run r
    WHERE r.handler_id = of_handler AND r.replay_id = 0 AND r.key = of_key AND r.state < 5
    ORDER BY r.handler_id, r.replay_id, r.key, r.id LIMIT ${mostSuperseded}
  ) o;
  -- Where some are left for the next time, the head stays, so that they have somebody to wait for. So does one that is being claimed.
  UPDATE inbox.run r SET state = 8, crashed = 0, ended_at = now_ms WHERE r.id IN (
    SELECT p.id FROM inbox.run p WHERE p.id = head AND p.state + 0 = 1 AND older < ${mostSuperseded} FOR UPDATE SKIP LOCKED);
  IF NOT FOUND THEN
    head := NULL;
  END IF;
  UPDATE inbox.run r SET state = 8, crashed = 0, ended_at = now_ms WHERE r.id = ANY (waiting);
  UPDATE inbox.handler h SET superseded = h.superseded + coalesce(cardinality(waiting), 0) + (head IS NOT NULL)::integer
  WHERE h.id = of_handler AND (head IS NOT NULL OR waiting IS NOT NULL);
END $$`
