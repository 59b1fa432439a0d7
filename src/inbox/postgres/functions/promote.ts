/** Of functions that many call at once: their plans are those of small sets that look things up, whatever the statistics say. */
export const hotSettings = `SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off SET enable_material = off SET jit = off SET plan_cache_mode = force_generic_plan`
/** Of those that are a transaction by themselves: who does not get a lock in time is tried again. */
export const callSettings = `${hotSettings} SET lock_timeout = '3s'`

/**
 * The oldest run that waits for its key takes the place of one that has ended; the caller has the lanes. Gives how many became ready.
 * While another run of the key is open for work, or is held, none does.
 */
export const promoteFunction = `
CREATE OR REPLACE FUNCTION inbox.promote(ended bigint[]) RETURNS integer LANGUAGE plpgsql ${hotSettings} AS $$
DECLARE
  promoted integer;
BEGIN
  UPDATE inbox.run r SET state = 1 FROM (
    SELECT n.id
    FROM (
      SELECT DISTINCT e.handler_id, e.replay_id, e.key FROM unnest(ended) u(id) JOIN inbox.run e ON e.id = u.id
      WHERE e.key IS NOT NULL AND e.state + 0 >= 5
    ) p CROSS JOIN LATERAL (
      SELECT o.id, o.state FROM inbox.run o
      WHERE o.handler_id = p.handler_id AND o.replay_id = p.replay_id AND o.key = p.key AND o.state < 5
      ORDER BY o.handler_id, o.replay_id, o.key, o.id LIMIT 1
    ) n LEFT JOIN LATERAL (
      -- With a limit it is looked up for each key, also where the statistics are of a time when nothing was open.
      SELECT true AS is_there FROM inbox.run z
      WHERE z.handler_id = p.handler_id AND z.replay_id = p.replay_id AND z.key = p.key AND z.state >= 1 AND z.state <= 4 LIMIT 1
    ) other ON true
    WHERE n.state = 0 AND other.is_there IS NULL
  ) next
  WHERE r.id = next.id AND r.state + 0 = 0;
  GET DIAGNOSTICS promoted = ROW_COUNT;
  RETURN promoted;
END $$`
