import { mostDrift, mostWallets } from '../../index-limits.ts'

/** An index of an older version is emptied. To be raised with every change of what is in it, be it by `readForIndex`. */
export const indexVersion = 1

/**
 * Each word is stored with the number of the part of the accept sequence that its event is in, as `24/wallet`. So a search goes from
 * part to part, the newest first, and each step of it reads a bounded piece of the index, also for the begin of a word that every event
 * has; and what comes is written in few places of it.
 */
const eventsPerPart = 8_192

/** What begins the words of an event. */
export function partPrefix(seq: number): string {
  return `${Math.floor((seq - 1) / eventsPerPart)}/`
}

/** A step of a search takes up to so many parts at once, while steps are quick. */
const mostPartsPerStep = 64

/**
 * `index_meta`: one row, made by whoever fills the index first. `seq`: up to which all is in it. `step` grows with every change but
 * prunes: who saw it and finds it unchanged knows all that the index holds. `index_event.is_live`: its words are in it, which those of
 * pruned ones are not. `index_kind`: numbers for pairs of type and network. `index_hour`: which part of the accept sequence was
 * received in it.
 */
export const indexTables = [
  `CREATE TABLE inbox.index_meta (
     id boolean PRIMARY KEY DEFAULT true CHECK (id),
     version integer NOT NULL,
     step bigint NOT NULL,
     seq bigint NOT NULL,
     begun_at bigint NOT NULL
   ) WITH (fillfactor = 10)`,
  `CREATE TABLE inbox.index_event (seq bigint PRIMARY KEY, is_live boolean NOT NULL, words tsvector NOT NULL)
     WITH (autovacuum_vacuum_scale_factor = 0.02)`,
  // Nobody plans by them, and they are dear to make.
  `ALTER TABLE inbox.index_event ALTER words SET STATISTICS 0`,
  // What waits to be sorted in is read by each search: so it is little.
  `CREATE INDEX index_event_words ON inbox.index_event USING gin (words) WITH (fastupdate = on, gin_pending_list_limit = 512)`,
  `CREATE INDEX index_event_live ON inbox.index_event (seq) WHERE is_live`,
  `CREATE TABLE inbox.index_kind (id integer PRIMARY KEY, type text COLLATE "C" NOT NULL, network text COLLATE "C")`,
  `CREATE TABLE inbox.index_tally (
     minute integer NOT NULL,
     kind_id integer NOT NULL,
     count bigint NOT NULL,
     min_seq bigint NOT NULL,
     max_seq bigint NOT NULL,
     PRIMARY KEY (minute, kind_id)
   )`,
  `CREATE TABLE inbox.index_hour (hour integer PRIMARY KEY, min_seq bigint NOT NULL, max_seq bigint NOT NULL)`,
  `CREATE TABLE inbox.index_cadence (
     kind_id integer PRIMARY KEY,
     first_at bigint NOT NULL,
     last_at bigint NOT NULL,
     count bigint NOT NULL,
     gaps text NOT NULL
   )`,
  `CREATE TABLE inbox.index_drift (
     kind text COLLATE "C" NOT NULL,
     type text COLLATE "C" NOT NULL,
     path text COLLATE "C" NOT NULL,
     expected text NOT NULL,
     example text NOT NULL,
     count bigint NOT NULL,
     first_at bigint NOT NULL,
     last_at bigint NOT NULL,
     first_event_id text NOT NULL,
     PRIMARY KEY (kind, type, path)
   )`,
  `CREATE TABLE inbox.index_secret (
     label text COLLATE "C" PRIMARY KEY,
     first_at bigint NOT NULL,
     last_at bigint NOT NULL,
     count bigint NOT NULL
   )`,
  `CREATE TABLE inbox.index_wallet (
     network text COLLATE "C" NOT NULL,
     address text COLLATE "C" NOT NULL,
     last_at bigint NOT NULL,
     PRIMARY KEY (network, address)
   )`,
]

/** Whoever fills the index calls it; of two that saw the same step one does nothing, and is told so. */
const addFunction = `
CREATE FUNCTION inbox.index_add(seen_step bigint, upto bigint, events json, counted json) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE inbox.index_meta SET step = step + 1, seq = upto WHERE step = seen_step;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO inbox.index_event SELECT e.seq, e.live, e.words::tsvector
    FROM json_to_recordset(events) AS e(seq bigint, live boolean, words text);
  INSERT INTO inbox.index_kind SELECT k.* FROM json_to_recordset(counted->'kinds') AS k(id integer, type text, network text);
  INSERT INTO inbox.index_tally AS t SELECT n.*
    FROM json_to_recordset(counted->'tallies') AS n(minute integer, "kindId" integer, count bigint, "minSeq" bigint, "maxSeq" bigint)
    ON CONFLICT (minute, kind_id) DO UPDATE SET count = t.count + excluded.count,
      min_seq = least(t.min_seq, excluded.min_seq), max_seq = greatest(t.max_seq, excluded.max_seq);
  INSERT INTO inbox.index_hour AS h SELECT n.*
    FROM json_to_recordset(counted->'hours') AS n(hour integer, "minSeq" bigint, "maxSeq" bigint)
    ON CONFLICT (hour) DO UPDATE SET
      min_seq = least(h.min_seq, excluded.min_seq), max_seq = greatest(h.max_seq, excluded.max_seq);
  INSERT INTO inbox.index_cadence AS c SELECT n.*
    FROM json_to_recordset(counted->'cadences') AS n("kindId" integer, "firstAt" bigint, "lastAt" bigint, count bigint, gaps text)
    ON CONFLICT (kind_id) DO UPDATE SET
      first_at = excluded.first_at, last_at = excluded.last_at, count = excluded.count, gaps = excluded.gaps;
  INSERT INTO inbox.index_drift AS d SELECT n.*
    FROM json_to_recordset(counted->'drift') AS n(kind text, type text, path text, expected text, example text, count bigint,
      "firstAt" bigint, "lastAt" bigint, "firstEventId" text)
    ON CONFLICT (kind, type, path) DO UPDATE SET count = d.count + excluded.count, last_at = greatest(d.last_at, excluded.last_at);
  INSERT INTO inbox.index_secret AS s SELECT n.*
    FROM json_to_recordset(counted->'secrets') AS n(label text, "firstAt" bigint, "lastAt" bigint, count bigint)
    ON CONFLICT (label) DO UPDATE SET count = s.count + excluded.count, last_at = greatest(s.last_at, excluded.last_at);
  INSERT INTO inbox.index_wallet AS w SELECT n.*
    FROM json_to_recordset(counted->'wallets') AS n(network text, address text, "lastAt" bigint)
    ON CONFLICT (network, address) DO UPDATE SET last_at = greatest(w.last_at, excluded.last_at);
  -- It sorts all of them: so it is done once for many.
  IF seen_step % 20 = 0 THEN
    DELETE FROM inbox.index_drift WHERE (kind, type, path) IN (
      SELECT d.kind, d.type, d.path FROM inbox.index_drift d ORDER BY d.last_at DESC, d.kind, d.type, d.path OFFSET ${mostDrift});
    DELETE FROM inbox.index_wallet WHERE (network, address) IN (
      SELECT w.network, w.address FROM inbox.index_wallet w ORDER BY w.last_at DESC, w.network, w.address OFFSET ${mostWallets});
  END IF;
  RETURN true;
END $$`

/** Empties the index, for it to be filled anew. */
const clearFunction = `
CREATE FUNCTION inbox.index_clear(new_version integer, now_ms bigint) RETURNS void LANGUAGE plpgsql SET lock_timeout = '3s' AS $$
BEGIN
  INSERT INTO inbox.index_meta AS m (version, step, seq, begun_at) VALUES (new_version, 1, 0, now_ms)
    ON CONFLICT (id) DO UPDATE SET version = new_version, step = m.step + 1, seq = 0, begun_at = now_ms;
  TRUNCATE inbox.index_event, inbox.index_kind, inbox.index_tally, inbox.index_hour, inbox.index_cadence, inbox.index_drift,
    inbox.index_secret, inbox.index_wallet;
END $$`

/**
 * Takes out the words of events whose bodies are gone, of those that are numbered between two; their fields stay. Looks at no more than
 * \`most\`, and tells how many those were, and which was the last.
 */
const pruneFunction = `
CREATE FUNCTION inbox.index_prune(after bigint, before bigint, mark text, most integer, OUT looked bigint, OUT last bigint)
LANGUAGE sql AS $$
  WITH looked AS MATERIALIZED (
    SELECT i.seq FROM inbox.index_event i WHERE i.is_live AND i.seq > after AND i.seq < before ORDER BY i.seq LIMIT most
  ), pruned AS (
    UPDATE inbox.index_event i SET is_live = false,
      words = array_to_tsvector(ARRAY(SELECT w FROM unnest(tsvector_to_array(i.words)) w WHERE position(mark IN w) > 0))
    FROM looked l WHERE i.seq = l.seq AND NOT EXISTS (SELECT 1 FROM inbox.body b WHERE b.seq = l.seq)
  )
  SELECT count(*), coalesce(max(l.seq), 0) FROM looked l $$`

/**
 * Events of which the words match, the newest first, from below a place down to the lowest. In \`asked\` each # stands for a part of the
 * accept sequence. Comes back with what it has when \`most\` are found, or the time is over; with nulls where the index does not go up
 * to \`below\`, is of another version, or is emptied meanwhile. Only the index of words is of use here, whatever a planner thinks of it.
 */
const searchFunction = `
CREATE FUNCTION inbox.index_search(of_version integer, asked text, below bigint, lowest bigint, most integer, budget_ms integer,
  OUT seqs bigint[], OUT reached bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_indexscan = off SET jit = off AS $$
DECLARE
  until timestamptz := clock_timestamp() + budget_ms * interval '1 ms';
  began timestamptz;
  query tsquery;
  part bigint;
  parts integer := 1;
  first bigint;
BEGIN
  -- While it is looked at it is not emptied.
  LOCK TABLE inbox.index_event IN ACCESS SHARE MODE;
  PERFORM 1 FROM inbox.index_meta m WHERE m.version = of_version AND m.seq >= below - 1;
  IF NOT FOUND THEN RETURN; END IF;
  seqs := '{}';
  reached := below;
  WHILE reached > lowest LOOP
    began := clock_timestamp();
    part := (reached - 2) / ${eventsPerPart};
    first := greatest(part - parts + 1, 0);
    SELECT string_agg('(' || replace(asked, '#', n || '/') || ')', ' | ')::tsquery INTO query FROM generate_series(first, part) n;
    first := greatest(lowest, first * ${eventsPerPart} + 1);
    seqs := seqs || ARRAY(
      SELECT e.seq FROM inbox.index_event e WHERE e.words @@ query AND e.seq + 0 < reached AND e.seq + 0 >= first
      ORDER BY e.seq DESC LIMIT most - cardinality(seqs));
    IF cardinality(seqs) >= most THEN
      reached := seqs[most];
      RETURN;
    END IF;
    reached := first;
    IF clock_timestamp() >= until THEN RETURN; END IF;
    parts := CASE WHEN clock_timestamp() - began < interval '5 ms' THEN least(parts * 2, ${mostPartsPerStep}) ELSE 1 END;
  END LOOP;
END $$`

export const indexFunctions: readonly string[] = [addFunction, clearFunction, pruneFunction, searchFunction]
