import { keptTallyMinutes } from '../../tally.ts'

/**
 * `tally`: accepted events per minute of receipt (since 1970), type, network ('' for none) and replica. `hour`: first and last
 * accept-sequence number received in an hour. `secret_use`: first and last use of each secret. All three are filled from the stored
 * events; the lock keeps replicas from accepting during that.
 */
export const tallies: readonly string[] = [
  `LOCK TABLE inbox.counter IN ACCESS EXCLUSIVE MODE`,
  `CREATE TABLE inbox.tally (
     minute integer NOT NULL,
     type text COLLATE "C" NOT NULL,
     network text COLLATE "C" NOT NULL,
     replica text COLLATE "C" NOT NULL DEFAULT '',
     count bigint NOT NULL,
     PRIMARY KEY (minute, type, network, replica)
   ) WITH (fillfactor = 50)`,
  `CREATE TABLE inbox.hour (hour integer PRIMARY KEY, first_seq bigint NOT NULL, last_seq bigint NOT NULL) WITH (fillfactor = 50)`,
  `CREATE TABLE inbox.secret_use (
     label text COLLATE "C" PRIMARY KEY,
     first_at bigint NOT NULL,
     last_at bigint NOT NULL,
     count bigint NOT NULL
   ) WITH (fillfactor = 10)`,
  `INSERT INTO inbox.hour SELECT received_at / 3600000, min(seq), max(seq) FROM inbox.event GROUP BY 1`,
  `INSERT INTO inbox.secret_use
     SELECT secret_label, min(received_at), max(received_at), count(*) FROM inbox.event GROUP BY 1`,
  `INSERT INTO inbox.tally (minute, type, network, count)
     SELECT received_at / 60000, type, CASE WHEN strpos(key, ':') > 0 THEN split_part(key, ':', 1) ELSE '' END, count(*)
     FROM inbox.event WHERE received_at >= ((SELECT max(hour) FROM inbox.hour)::bigint * 60 - ${keptTallyMinutes}) * 60000
     GROUP BY 1, 2, 3`,
  // The search index of earlier versions.
  `DROP TABLE IF EXISTS inbox.index_meta, inbox.index_event, inbox.index_kind, inbox.index_tally, inbox.index_hour,
     inbox.index_cadence, inbox.index_drift, inbox.index_secret, inbox.index_wallet`,
  `CREATE INDEX event_key ON inbox.event (key, seq) WHERE key IS NOT NULL`,
]
