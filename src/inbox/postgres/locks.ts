import { runState } from '../run-sql.ts'

/**
 * Locks of transactions. To avoid deadlocks, a transaction takes them in this order:
 *
 *   action lock    shared by accept, claim, settle, release and reap; exclusive for operator actions and job steps
 *   the counter    one row, locked by accept: the accept sequence has no gaps, and its order is the commit order
 *   handlers       rows of handlers whose state a settle reads or writes, by id
 *   lanes          65,536 rows, one per hash of a key, by id: who locks a key's lane decides which run of it is first
 *   runs           rows, by id
 */
const lockClass = 7217

/** Exclusive. */
export const exclusiveLock = `pg_advisory_xact_lock(${lockClass}, 1)`
/** Compatible with itself, but not with `exclusiveLock`. */
export const sharedLock = `pg_advisory_xact_lock_shared(${lockClass}, 1)`
/** Held while the schema is created or changed. */
export const migrationLock = `pg_advisory_xact_lock(${lockClass}, 2)`

/** Milliseconds since 1970, by the database's clock, so that the clocks of replicas may differ. Tests replace this function. */
export const nowFunction = `
CREATE FUNCTION inbox.now_ms() RETURNS bigint LANGUAGE sql STABLE AS $$
  SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint $$`

/** The lane of a key of a handler and a replay (0: live). */
export const laneFunction = `
CREATE FUNCTION inbox.lane_of(handler integer, replay integer, key text) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (hashtextextended(key, handler::bigint * 1000003 + replay) & 65535)::integer $$`

/** Settings of frequent functions: forces plans with index lookups, independent of statistics. */
export const hotSettings = `SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_material = off SET jit = off SET plan_cache_mode = force_generic_plan`
/** Settings of functions that are called as a whole transaction. The caller retries after a lock timeout. */
export const callSettings = `${hotSettings} SET lock_timeout = '3s'`

/** SQL condition: a run is running. `+ 0` keeps the planner from using `run_open`, which contains all other open runs too. */
export const isRunning = (run = ''): string => `${run}state + 0 = ${runState.running}`
