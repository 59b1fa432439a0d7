import { callSettings, sharedLock } from '../locks.ts'
import { errorGroupOf } from '../../error-group.ts'
import { maxCrashes } from '../../port.ts'

/** Forces the index in claim order. With another index, the planner would read and sort all claimable runs. */
const inOrder = `${callSettings} SET enable_bitmapscan = off SET enable_sort = off`

/** Sets `generation` to the next replay of a handler with wanted runs; null if there is none. */
const nextGeneration = `SELECT min(n.replay_id) INTO generation FROM (
          SELECT r.replay_id FROM inbox.run r
          WHERE r.state = wanted AND r.state >= 1 AND r.state <= 2 AND r.handler_id = place.id AND r.replay_id > generation
          ORDER BY r.replay_id LIMIT 1
        ) n;`

/**
 * Takes runs for claims, in the order of the claims: for each handler live runs before replays, oldest first. Skips runs that another
 * transaction has locked, so it never waits. Counts the attempts.
 *
 * `claims`: JSON array of `{id, handlers, max, owner, suspects}`; `id` is unique per owner. Returns a row per run. A claim without runs
 * gets one row without a run, with the milliseconds until the next run is due (null: none).
 */
const claimFunction = `
CREATE FUNCTION inbox.claim(claims json)
RETURNS TABLE (claim_id bigint, run_id bigint, token integer, handler text, attempt integer, failed integer, crashed integer, key text,
  replay_id integer, new_keys boolean, event_seq bigint, due_in bigint)
LANGUAGE plpgsql ${inOrder} AS $$
#variable_conflict use_column
DECLARE
  now_ms bigint := inbox.now_ms();
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
  PERFORM ${sharedLock};
  IF EXISTS (SELECT 1 FROM inbox.meta m WHERE m.name = 'paused' AND m.value = 1) THEN
    RETURN;
  END IF;
  FOR claim IN
    SELECT c.* FROM json_to_recordset(claims) AS c(id bigint, handlers text[], max integer, owner text, suspects boolean)
  LOOP
    wanted := CASE WHEN claim.suspects THEN 2 ELSE 1 END;
    remaining := claim.max;
    -- If an earlier claim of the same kind found nothing, this one gets nothing either, to keep the order of claims.
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
        ${nextGeneration}
      END LOOP;
    END LOOP;
    IF remaining = claim.max THEN
      empty := empty || kind;
      due := inbox.next_due(claim.handlers, wanted) - now_ms;
      RETURN QUERY SELECT claim.id, NULL::bigint, NULL::integer, NULL::text, NULL::integer, NULL::integer, NULL::integer, NULL::text,
        NULL::integer, NULL::boolean, NULL::bigint, due;
    END IF;
  END LOOP;
END $$`

/** When the next run of the handlers, live or of a replay, is due; ignores paused handlers. Null if there is none. */
const nextDueFunction = `
CREATE FUNCTION inbox.next_due(handlers text[], wanted smallint) RETURNS bigint LANGUAGE plpgsql
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
      ${nextGeneration}
    END LOOP;
  END LOOP;
  RETURN due;
END $$`

/**
 * Reads the data of leases for claimed runs; `claims`, `runs` and `seqs` have an element per run. Each claim gets rows up to `most` bytes of
 * bodies, plus the row that exceeds it. Its other runs get no row.
 */
const readLeasesFunction = `
CREATE FUNCTION inbox.read_leases(claims bigint[], runs bigint[], seqs bigint[], most bigint)
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

/** Releases all runs of claims whose response was lost. Returns how many. */
const releaseClaimsFunction = `
CREATE FUNCTION inbox.release_claims(owners text[], claims bigint[]) RETURNS integer LANGUAGE plpgsql
${callSettings} AS $$
DECLARE
  ids bigint[];
  tokens bigint[];
  zeros bigint[];
BEGIN
  SELECT array_agg(r.id), array_agg(r.token::bigint), array_agg(0::bigint) INTO ids, tokens, zeros
  FROM unnest(owners, claims) AS c(owner, id) JOIN inbox.run r ON r.state + 0 = 3 AND r.owner = c.owner AND r.claim_id = c.id;
  IF ids IS NULL THEN
    RETURN 0;
  END IF;
  RETURN (SELECT cardinality(s.applied) FROM inbox.settle(ids, tokens, array_fill('release'::text, ARRAY[cardinality(ids)]), zeros, zeros,
    zeros, array_fill(NULL::text, ARRAY[cardinality(ids)]), '[]', '[]', '[]', 0) s);
END $$`

const name = 'handler_crashed'
const begin = 'the process or thread that ran it died before a verdict'

/**
 * Ends the leases of an owner that died. Each run counts as crashed and becomes a crash suspect; a repeated suspect goes behind the others.
 * After `maxCrashes` it becomes a dead letter. Returns a row per run; only dead letters have an error. Runs that the owner claims during
 * the call are left for the next call.
 */
const reapFunction = `
CREATE FUNCTION inbox.reap(who text)
RETURNS TABLE (run_id bigint, handler text, event_id text, attempt integer, error_name text, error_message text) LANGUAGE plpgsql
${callSettings} AS $$
#variable_conflict use_column
DECLARE
  now_ms bigint := inbox.now_ms();
  ids bigint[];
BEGIN
  PERFORM ${sharedLock};
  SELECT array_agg(r.id) INTO ids FROM inbox.run r WHERE r.owner = who AND r.state + 0 = 3;
  IF ids IS NULL THEN
    RETURN;
  END IF;
  PERFORM 1 FROM inbox.lane l WHERE l.id IN (
    SELECT inbox.lane_of(r.handler_id, r.replay_id, r.key) FROM unnest(ids) AS u(id) JOIN inbox.run r ON r.id = u.id WHERE r.key IS NOT NULL
  ) ORDER BY l.id FOR NO KEY UPDATE;
  SELECT coalesce(array_agg(x.id), '{}') INTO ids FROM (
    SELECT r.id FROM unnest(ids) AS u(id) JOIN inbox.run r ON r.id = u.id WHERE r.owner = who AND r.state + 0 = 3
    ORDER BY r.id FOR NO KEY UPDATE OF r
  ) x;
  INSERT INTO inbox.attempt (run_id, attempt, started_at, ended_at, outcome, error_name, error_message)
    SELECT r.id, r.attempt, coalesce(r.started_at, now_ms), now_ms, 'crashed', '${name}',
      format('${begin} (crash %s of ${maxCrashes})', r.crashed + 1)
    FROM unnest(ids) AS u(id) JOIN inbox.run r ON r.id = u.id ORDER BY r.id;
  UPDATE inbox.run r SET
    state = n.next,
    crashed = CASE WHEN n.next = 10 THEN 0 ELSE r.crashed + 1 END,
    run_at = CASE WHEN n.next = 2 AND r.crashed > 0 THEN now_ms ELSE r.run_at END,
    ended_at = CASE WHEN n.next = 2 THEN r.ended_at ELSE now_ms END,
    error_group = CASE WHEN n.next IN (4, 5) THEN '${errorGroupOf({ name, message: `${begin} (crash 1 of ${maxCrashes})` })}' ELSE r.error_group END,
    owner = NULL
  FROM (
    SELECT q.id, CASE
        WHEN q.replay_id > 0 AND inbox.is_cancelled(q.id, q.replay_id) THEN 10
        WHEN q.crashed + 1 < ${maxCrashes} THEN 2
        WHEN q.key IS NOT NULL AND h.holds THEN 4
        ELSE 5 END AS next
    FROM unnest(ids) AS u(id) JOIN inbox.run q ON q.id = u.id JOIN inbox.handler h ON h.id = q.handler_id
  ) n
  WHERE r.id = n.id;
  PERFORM inbox.promote(ids);
  PERFORM pg_notify('inbox_wake', '');
  RETURN QUERY
    SELECT r.id, h.name, coalesce(e.id, ''), r.attempt, CASE WHEN r.state IN (4, 5) THEN '${name}' END,
      CASE WHEN r.state IN (4, 5) THEN format('${begin} (crash %s of ${maxCrashes})', r.crashed) END
    FROM unnest(ids) AS u(id) JOIN inbox.run r ON r.id = u.id JOIN inbox.handler h ON h.id = r.handler_id
    LEFT JOIN inbox.event e ON e.seq = r.event_seq ORDER BY r.id;
END $$`

export const claimFunctions: readonly string[] = [
  claimFunction,
  nextDueFunction,
  readLeasesFunction,
  releaseClaimsFunction,
  reapFunction,
]
