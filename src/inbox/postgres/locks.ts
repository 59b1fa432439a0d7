/**
 * What keeps transactions of many replicas from each other's way. Whoever takes several takes them in this order:
 *
 *   the act lock   shared by accept, claim, settle, release and reap; an act of people or a step of a job has it alone
 *   the counter    one row, of accept: so the accept sequence has no gaps, and its order is the order of commits
 *   handlers       rows of those whose state a settle reads or writes, by id
 *   lanes          rows of what a key may fall on, by id: who has them decides which run of a key is first
 *   runs           rows, by id
 */
const classOfLocks = 7217

/** Alone in the database. */
export const actLock = `pg_advisory_xact_lock(${classOfLocks}, 1)`
/** Beside others of its kind, but not beside an act. */
export const workLock = `pg_advisory_xact_lock_shared(${classOfLocks}, 1)`
/** Held while the schema is made or changed. */
export const migrationLock = `pg_advisory_xact_lock(${classOfLocks}, 2)`

/**
 * The time in milliseconds since 1970, by the clock of the database: so the clocks of the replicas don't have to agree. Tests replace it.
 */
export const nowFunction = `
CREATE FUNCTION inbox.now_ms() RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$`

/** The lane that a key of a handler's generation falls on. */
export const laneFunction = `
CREATE FUNCTION inbox.lane_of(handler integer, replay integer, key text) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (hashtextextended(key, handler::bigint * 1000003 + replay) & 65535)::integer $$`

/** Of functions that many call at once: their plans are those of small sets that look things up, whatever the statistics say. */
export const hotSettings = `SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_material = off SET jit = off SET plan_cache_mode = force_generic_plan`
/** Of those that are a transaction by themselves: who does not get a lock in time is tried again. */
export const callSettings = `${hotSettings} SET lock_timeout = '3s'`
