import { errorGroupOf } from '../../error-group.ts'
import { maxCrashes } from '../../port.ts'
import { isClaimable, runState as state } from '../../run-sql.ts'
import { callSettings, isRunning, sharedLock } from '../locks.ts'

/*
 * Functions that take and end leases without an outcome: see `leases.ts` for the life of a lease.
 *
 *   claim           takes runs for claims
 *   next_due        time until the next run of a claim without runs is due
 *   read_leases     reads what the handlers of taken runs need
 *   release_claims  releases the runs of claims whose response was lost
 *   reap            ends the leases of an owner that died
 */

/** Forces the index in claim order. With another index, the planner would read and sort all claimable runs. */
const inOrder = `${callSettings} SET enable_bitmapscan = off SET enable_sort = off`

/** SQL condition: a run of the handler `searched` that claims of the kind `wanted` can get. */
const isWanted = `run.state = wanted AND ${isClaimable('run.')} AND run.handler_id = searched.id`

/** Sets `searched_replay` to the id of the next replay of a handler with wanted runs; null if there is none. Replay 0 is the live runs. */
const nextReplay = `SELECT min(later.replay_id) INTO searched_replay FROM (
          SELECT run.replay_id FROM inbox.run WHERE ${isWanted} AND run.replay_id > searched_replay ORDER BY run.replay_id LIMIT 1
        ) later;`

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
  searched record;
  wanted smallint;
  searched_replay integer;
  remaining integer;
  taken integer;
  due bigint;
  kind text;
  empty_kinds text[] := '{}';
BEGIN
  PERFORM ${sharedLock};
  IF EXISTS (SELECT 1 FROM inbox.meta WHERE meta.name = 'paused' AND meta.value = 1) THEN
    RETURN;
  END IF;
  FOR claim IN
    SELECT sent.* FROM json_to_recordset(claims) AS sent(id bigint, handlers text[], max integer, owner text, suspects boolean)
  LOOP
    wanted := CASE WHEN claim.suspects THEN ${state.suspect} ELSE ${state.ready} END;
    remaining := claim.max;
    -- If an earlier claim of the same kind found nothing, this one gets nothing either, to keep the order of claims.
    kind := wanted || array_to_string(claim.handlers, ' ');
    FOR searched IN
      SELECT stored.id, stored.name FROM unnest(claim.handlers) WITH ORDINALITY named(name, place)
      JOIN inbox.handler stored ON stored.name = named.name
      WHERE NOT stored.paused AND NOT kind = ANY (empty_kinds) ORDER BY named.place
    LOOP
      searched_replay := 0;
      WHILE searched_replay IS NOT NULL AND remaining > 0 LOOP
        RETURN QUERY
          WITH oldest AS MATERIALIZED (
            SELECT run.ctid AS row_address FROM inbox.run WHERE ${isWanted} AND run.replay_id = searched_replay AND run.run_at <= now_ms
            ORDER BY run.run_at, run.id LIMIT remaining FOR NO KEY UPDATE SKIP LOCKED
          ), leased AS (
            UPDATE inbox.run
            SET state = ${state.running}, token = run.token + 1, attempt = run.attempt + 1, owner = claim.owner, claim_id = claim.id,
              started_at = now_ms
            FROM oldest WHERE run.ctid = oldest.row_address
            RETURNING run.*
          )
          SELECT claim.id, leased.id, leased.token, searched.name, leased.attempt, leased.failed, leased.crashed, leased.key,
            leased.replay_id,
            CASE WHEN leased.replay_id > 0 THEN (SELECT replay.new_keys FROM inbox.replay WHERE replay.id = leased.replay_id) END,
            leased.event_seq, NULL::bigint
          FROM leased ORDER BY leased.run_at, leased.id;
        GET DIAGNOSTICS taken = ROW_COUNT;
        remaining := remaining - taken;
        ${nextReplay}
      END LOOP;
    END LOOP;
    IF remaining = claim.max THEN
      empty_kinds := empty_kinds || kind;
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
  searched record;
  searched_replay integer;
  earliest bigint;
  due bigint;
BEGIN
  FOR searched IN SELECT handler.id FROM inbox.handler WHERE handler.name = ANY (handlers) AND NOT handler.paused LOOP
    searched_replay := 0;
    WHILE searched_replay IS NOT NULL LOOP
      SELECT run.run_at INTO earliest FROM inbox.run WHERE ${isWanted} AND run.replay_id = searched_replay ORDER BY run.run_at LIMIT 1;
      due := least(due, earliest);
      ${nextReplay}
    END LOOP;
  END LOOP;
  RETURN due;
END $$`

/**
 * Reads the data of leases for claimed runs; `claims`, `runs` and `seqs` have an element per run. Each claim gets rows up to `max_bytes` of
 * bodies, plus the row that exceeds it. Its other runs get no row.
 */
const readLeasesFunction = `
CREATE FUNCTION inbox.read_leases(claims bigint[], runs bigint[], seqs bigint[], max_bytes bigint)
RETURNS TABLE (run_id bigint, id text, type text, created_at text, received_at bigint, key text, secret_label text, trace text, raw bytea,
  payload text, idempotency_key text)
LANGUAGE plpgsql STABLE ${callSettings} AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
    SELECT fitting.run, event.id, event.type, event.created_at, event.received_at, event.key, event.secret_label, event.trace, body.raw,
      item.payload, item.idempotency_key
    FROM (
      SELECT sized.*, sum(sized.bytes) OVER (PARTITION BY sized.claim ORDER BY sized.place) - sized.bytes AS bytes_before FROM (
        SELECT leased.*, coalesce(length(body.raw), 0) + coalesce(length(item.payload), 0) AS bytes
        FROM unnest(claims, runs, seqs) WITH ORDINALITY AS leased(claim, run, seq, place)
        LEFT JOIN inbox.body ON body.seq = leased.seq LEFT JOIN inbox.item ON item.run_id = leased.run
      ) sized
    ) fitting
    LEFT JOIN inbox.event ON event.seq = fitting.seq
    LEFT JOIN inbox.body ON body.seq = fitting.seq
    LEFT JOIN inbox.item ON item.run_id = fitting.run
    WHERE fitting.bytes_before < max_bytes
    ORDER BY fitting.place;
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
  SELECT array_agg(run.id), array_agg(run.token::bigint), array_agg(0::bigint) INTO ids, tokens, zeros
  FROM unnest(owners, claims) AS lost(owner, id)
  JOIN inbox.run ON ${isRunning('run.')} AND run.owner = lost.owner AND run.claim_id = lost.id;
  IF ids IS NULL THEN
    RETURN 0;
  END IF;
  RETURN (SELECT cardinality(settled.applied) FROM inbox.settle(ids, tokens, array_fill('release'::text, ARRAY[cardinality(ids)]), zeros,
    zeros, zeros, array_fill(NULL::text, ARRAY[cardinality(ids)]), '[]', '[]', '[]', 0) settled);
END $$`

const crashName = 'handler_crashed'
const crashText = 'the process or thread that ran it died before a verdict'
const crashGroup = errorGroupOf({ name: crashName, message: `${crashText} (crash 1 of ${maxCrashes})` })

/**
 * Ends the leases of an owner that died. Each run counts as crashed and becomes a crash suspect; a repeated suspect goes behind the others.
 * After `maxCrashes` it becomes a dead letter. Returns a row per run; only dead letters have an error. Runs that the owner claims during
 * the call are left for the next call.
 */
const reapFunction = `
CREATE FUNCTION inbox.reap(owner_name text)
RETURNS TABLE (run_id bigint, handler text, event_id text, attempt integer, error_name text, error_message text) LANGUAGE plpgsql
${callSettings} AS $$
#variable_conflict use_column
DECLARE
  now_ms bigint := inbox.now_ms();
  ids bigint[];
BEGIN
  PERFORM ${sharedLock};
  SELECT array_agg(run.id) INTO ids FROM inbox.run WHERE run.owner = owner_name AND ${isRunning('run.')};
  IF ids IS NULL THEN
    RETURN;
  END IF;
  PERFORM 1 FROM inbox.lane WHERE lane.id IN (
    SELECT inbox.lane_of(run.handler_id, run.replay_id, run.key) FROM unnest(ids) AS leased(id) JOIN inbox.run ON run.id = leased.id
    WHERE run.key IS NOT NULL
  ) ORDER BY lane.id FOR NO KEY UPDATE;
  SELECT coalesce(array_agg(locked.id), '{}') INTO ids FROM (
    SELECT run.id FROM unnest(ids) AS leased(id) JOIN inbox.run ON run.id = leased.id WHERE run.owner = owner_name AND ${isRunning('run.')}
    ORDER BY run.id FOR NO KEY UPDATE OF run
  ) locked;
  INSERT INTO inbox.attempt (run_id, attempt, started_at, ended_at, outcome, error_name, error_message)
    SELECT run.id, run.attempt, coalesce(run.started_at, now_ms), now_ms, 'crashed', '${crashName}',
      format('${crashText} (crash %s of ${maxCrashes})', run.crashed + 1)
    FROM unnest(ids) AS locked(id) JOIN inbox.run ON run.id = locked.id ORDER BY run.id;
  UPDATE inbox.run SET
    state = crash.next,
    crashed = CASE WHEN crash.next = ${state.dropped} THEN 0 ELSE run.crashed + 1 END,
    run_at = CASE WHEN crash.next = ${state.suspect} AND run.crashed > 0 THEN now_ms ELSE run.run_at END,
    ended_at = CASE WHEN crash.next = ${state.suspect} THEN run.ended_at ELSE now_ms END,
    error_group = CASE WHEN crash.next IN (${state.held}, ${state.dead}) THEN '${crashGroup}' ELSE run.error_group END,
    owner = NULL
  FROM (
    SELECT before.id, CASE
        WHEN before.replay_id > 0 AND inbox.is_cancelled(before.id, before.replay_id) THEN ${state.dropped}
        WHEN before.crashed + 1 < ${maxCrashes} THEN ${state.suspect}
        WHEN before.key IS NOT NULL AND handler.holds THEN ${state.held}
        ELSE ${state.dead} END AS next
    FROM unnest(ids) AS locked(id) JOIN inbox.run before ON before.id = locked.id JOIN inbox.handler ON handler.id = before.handler_id
  ) crash
  WHERE run.id = crash.id;
  PERFORM inbox.promote(ids);
  PERFORM pg_notify('inbox_wake', '');
  RETURN QUERY
    SELECT run.id, handler.name, coalesce(event.id, ''), run.attempt,
      CASE WHEN run.state IN (${state.held}, ${state.dead}) THEN '${crashName}' END,
      CASE WHEN run.state IN (${state.held}, ${state.dead}) THEN format('${crashText} (crash %s of ${maxCrashes})', run.crashed) END
    FROM unnest(ids) AS locked(id) JOIN inbox.run ON run.id = locked.id JOIN inbox.handler ON handler.id = run.handler_id
    LEFT JOIN inbox.event ON event.seq = run.event_seq ORDER BY run.id;
END $$`

export const claimFunctions: readonly string[] = [
  claimFunction,
  nextDueFunction,
  readLeasesFunction,
  releaseClaimsFunction,
  reapFunction,
]
