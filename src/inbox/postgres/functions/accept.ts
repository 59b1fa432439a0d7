import { workLock } from '../locks.ts'
import { callSettings } from './promote.ts'

/** More sets of headers are not kept: a sender whose headers differ from delivery to delivery must not fill the database with them. */
export const mostHeaderSets = 1_000

/**
 * Stores what came, in one transaction, and creates its runs; in the order in which it stands in the arrays. An array costs a tenth of
 * JSON here, and PL/pgSQL finds an element of it at once.
 *
 * Gives what became of each, in `results`, a letter for each: `a`ccepted, `d`uplicate, `c`onflict or `q`uarantined; `last_before`: the
 * accepted ones have the numbers after this, in their order. The rest is of `create_runs`.
 *
 * `ids`, null where the arrival is not an event, or its id stands here before. `new_headers`: null, or the headers of those that have
 * no known set. `other_…`: of those that are null in `ids`, the place, the id, and the reason why it is no event (null: it is one).
 * The rest is for `create_runs`.
 */
export const acceptFunction = `
CREATE OR REPLACE FUNCTION inbox.accept(ids text[], types text[], created text[], received bigint[], keys text[], labels text[],
  header_sets integer[], traces text[], bodies bytea[], new_headers text[], other_at integer[], other_ids text[], other_reasons text[],
  handlers text[], latest boolean[], slot_handler integer[], slot_key text[], run_at integer[], run_slot integer[],
  offer_handlers text[], offer_owners text[], offer_claims bigint[], offer_room integer[], now_ms bigint,
  OUT results text, OUT last_before bigint, OUT are_ready boolean, OUT given_at integer[], OUT given_runs bigint[], OUT given_claims bigint[])
LANGUAGE plpgsql
${callSettings} AS $$
DECLARE
  size integer := cardinality(bodies);
  total bigint;
  seqs bigint[];
  fresh integer;
  again record;
BEGIN
  PERFORM ${workLock};
  SELECT c.last_seq, c.body_bytes INTO last_before, total FROM inbox.counter c FOR UPDATE;

  -- A statement of its own after the lock: it sees what others have committed. Null: not new.
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
    SELECT seqs[n], ids[n], types[n], created[n], received[n], keys[n], labels[n], now_ms - received[n], header_sets[n], traces[n]
    FROM generate_series(1, size) n WHERE seqs[n] IS NOT NULL;
    INSERT INTO inbox.body (seq, total, raw)
    SELECT seqs[n], total + sum(length(bodies[n])) OVER (ORDER BY n), bodies[n]
    FROM generate_series(1, size) n WHERE seqs[n] IS NOT NULL;
    UPDATE inbox.counter SET last_seq = last_before + fresh, body_bytes = total + (
      SELECT sum(length(bodies[n])) FROM generate_series(1, size) n WHERE seqs[n] IS NOT NULL);
    SELECT r.* INTO are_ready, given_at, given_runs, given_claims
    FROM inbox.create_runs(seqs, handlers, latest, slot_handler, slot_key, run_at, run_slot, offer_handlers, offer_owners, offer_claims,
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
export const keepHeadersFunction = `
CREATE OR REPLACE FUNCTION inbox.keep_headers(seqs bigint[], known integer[], new_headers text[]) RETURNS integer[]
LANGUAGE plpgsql SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
  INSERT INTO inbox.header_set (headers)
  SELECT u.headers FROM (
    SELECT new_headers[n] AS headers, min(n) AS place FROM generate_series(1, cardinality(seqs)) n
    WHERE seqs[n] IS NOT NULL AND new_headers[n] IS NOT NULL GROUP BY new_headers[n]
  ) u
  WHERE NOT EXISTS (SELECT FROM inbox.header_set h WHERE md5(h.headers) = md5(u.headers)) ORDER BY u.place
  LIMIT greatest(0, ${mostHeaderSets} - (SELECT count(DISTINCT headers) FROM inbox.header_set));
  RETURN (
    SELECT array_agg(coalesce(known[n], (
      SELECT min(h.id) FROM inbox.header_set h WHERE md5(h.headers) = md5(new_headers[n]) AND h.headers = new_headers[n]
    )) ORDER BY n) FROM generate_series(1, cardinality(seqs)) n);
END $$`

/** Keeps bytes that are no event, or counts them where they are known. */
export const quarantineFunction = `
CREATE OR REPLACE FUNCTION inbox.quarantine_body(body_id text, why text, received bigint, label text, bytes bytea) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE inbox.quarantine q SET count = q.count + 1 WHERE q.id = body_id;
  IF NOT FOUND THEN
    INSERT INTO inbox.quarantine (id, reason, received_at, secret_label, count, total, raw) VALUES (body_id, why, received, label, 1,
      coalesce((SELECT l.total FROM inbox.quarantine l ORDER BY l.seq DESC LIMIT 1), 0) + length(bytes), bytes);
  END IF;
END $$`
