import { workLock } from '../locks.ts'
import { callSettings } from './promote.ts'

/** What is claimed stands in its index in the order in which it is claimed: another one would have to be read whole, and sorted. */
const inOrder = `${callSettings} SET enable_bitmapscan = off SET enable_sort = off`

/**
 * Takes runs for claims, in their order: of each handler what is live before what is of replays, oldest first. It waits for nobody: what
 * another one is just taking is not there. The attempts are counted.
 *
 * `claims` is a JSON array of `{id, handlers, max, owner, suspects}`; `id` tells the claim from all others of its owner. Gives a row for each
 * run; for a claim that got none one row without a run, with the time when the next one falls due, if any is to.
 */
export const claimFunction = `
CREATE OR REPLACE FUNCTION inbox.claim(claims json, now_ms bigint)
RETURNS TABLE (claim_id bigint, run_id bigint, token integer, handler text, attempt integer, failed integer, crashed integer, key text,
  replay_id integer, new_keys boolean, event_seq bigint, due_at bigint)
LANGUAGE plpgsql ${inOrder} AS $$
#variable_conflict use_column
DECLARE
  claim record;
  place record;
  wanted smallint;
  generation integer;
  remaining integer;
  taken integer;
  due bigint;
  kind text;
  empty text[] := '{}';
BEGIN
  PERFORM ${workLock};
  IF EXISTS (SELECT 1 FROM inbox.meta m WHERE m.name = 'paused' AND m.value = 1) THEN
    RETURN;
  END IF;
  FOR claim IN
    SELECT c.* FROM json_to_recordset(claims) AS c(id bigint, handlers text[], max integer, owner text, suspects boolean)
  LOOP
    wanted := CASE WHEN claim.suspects THEN 2 ELSE 1 END;
    remaining := claim.max;
    -- What came meanwhile is not for this one, if another one that asked for the same before it got nothing.
    kind := wanted || array_to_string(claim.handlers, ' ');
    FOR place IN
      SELECT h.id, h.name FROM unnest(claim.handlers) WITH ORDINALITY n(name, nth) JOIN inbox.handler h ON h.name = n.name
      WHERE NOT h.paused AND NOT kind = ANY (empty) ORDER BY n.nth
    LOOP
      generation := 0;
      WHILE generation IS NOT NULL AND remaining > 0 LOOP
        RETURN QUERY
          WITH first AS MATERIALIZED (
            SELECT r.ctid AS at FROM inbox.run r
            WHERE r.state = wanted AND r.state >= 1 AND r.state <= 2 AND r.handler_id = place.id AND r.replay_id = generation
              AND r.run_at <= now_ms
            ORDER BY r.run_at, r.id LIMIT remaining FOR NO KEY UPDATE SKIP LOCKED
          ), got AS (
            UPDATE inbox.run r
            SET state = 3, token = r.token + 1, attempt = r.attempt + 1, owner = claim.owner, claim_id = claim.id, started_at = now_ms
            FROM first f WHERE r.ctid = f.at
            RETURNING r.*
          )
          SELECT claim.id, g.id, g.token, place.name, g.attempt, g.failed, g.crashed, g.key, g.replay_id,
            CASE WHEN g.replay_id > 0 THEN (SELECT p.new_keys FROM inbox.replay p WHERE p.id = g.replay_id) END, g.event_seq, NULL::bigint
          FROM got g ORDER BY g.run_at, g.id;
        GET DIAGNOSTICS taken = ROW_COUNT;
        remaining := remaining - taken;
        SELECT min(n.replay_id) INTO generation FROM (
          SELECT r.replay_id FROM inbox.run r
          WHERE r.state = wanted AND r.state >= 1 AND r.state <= 2 AND r.handler_id = place.id AND r.replay_id > generation
          ORDER BY r.replay_id LIMIT 1
        ) n;
      END LOOP;
    END LOOP;
    IF remaining = claim.max THEN
      empty := empty || kind;
      due := inbox.next_due(claim.handlers, wanted);
      RETURN QUERY SELECT claim.id, NULL::bigint, NULL::integer, NULL::text, NULL::integer, NULL::integer, NULL::integer, NULL::text,
        NULL::integer, NULL::boolean, NULL::bigint, due;
    END IF;
  END LOOP;
END $$`

/** When the next run of any generation of handlers that are not paused falls due; null if none is to. */
export const nextDueFunction = `
CREATE OR REPLACE FUNCTION inbox.next_due(handlers text[], wanted smallint) RETURNS bigint LANGUAGE plpgsql
${inOrder} AS $$
DECLARE
  place record;
  generation integer;
  first bigint;
  due bigint;
BEGIN
  FOR place IN SELECT h.id FROM inbox.handler h WHERE h.name = ANY (handlers) AND NOT h.paused LOOP
    generation := 0;
    WHILE generation IS NOT NULL LOOP
      SELECT r.run_at INTO first FROM inbox.run r
      WHERE r.state = wanted AND r.state >= 1 AND r.state <= 2 AND r.handler_id = place.id AND r.replay_id = generation
      ORDER BY r.run_at LIMIT 1;
      due := least(due, first);
      SELECT min(n.replay_id) INTO generation FROM (
        SELECT r.replay_id FROM inbox.run r
        WHERE r.state = wanted AND r.state >= 1 AND r.state <= 2 AND r.handler_id = place.id AND r.replay_id > generation
        ORDER BY r.replay_id LIMIT 1
      ) n;
    END LOOP;
  END LOOP;
  RETURN due;
END $$`

/**
 * What leases carry, of runs that were claimed: `claims`, `runs` and `seqs` have an element for each. Of each claim so many that their
 * bodies have `most` bytes, and the one that goes beyond; of the others there is no row.
 */
export const readLeasesFunction = `
CREATE OR REPLACE FUNCTION inbox.read_leases(claims bigint[], runs bigint[], seqs bigint[], most bigint)
RETURNS TABLE (run_id bigint, id text, type text, created_at text, received_at bigint, key text, secret_label text, trace text, raw bytea,
  payload text, idempotency_key text)
LANGUAGE plpgsql STABLE ${callSettings} AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    SELECT w.run, e.id, e.type, e.created_at, e.received_at, e.key, e.secret_label, e.trace, b.raw, i.payload, i.idempotency_key
    FROM (
      SELECT s.*, sum(s.size) OVER (PARTITION BY s.claim ORDER BY s.place) - s.size AS before FROM (
        SELECT g.*, coalesce(length(b.raw), 0) + coalesce(length(i.payload), 0) AS size
        FROM unnest(claims, runs, seqs) WITH ORDINALITY AS g(claim, run, seq, place)
        LEFT JOIN inbox.body b ON b.seq = g.seq LEFT JOIN inbox.item i ON i.run_id = g.run
      ) s
    ) w
    LEFT JOIN inbox.event e ON e.seq = w.seq LEFT JOIN inbox.body b ON b.seq = w.seq LEFT JOIN inbox.item i ON i.run_id = w.run
    WHERE w.before < most
    ORDER BY w.place;
END $$`
