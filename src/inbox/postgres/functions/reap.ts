import { errorGroupOf } from '../../error-group.ts'
import { maxCrashes } from '../../port.ts'
import { workLock } from '../locks.ts'
import { callSettings } from './promote.ts'

const name = 'handler_crashed'
const begin = 'the process or thread that ran it died before a verdict'

/**
 * Ends the leases of an owner that died: each run counts as crashed and becomes a suspect, behind the others if it was one, or, after
 * `maxCrashes`, a dead letter. Gives a row for each run; of those that became dead letters with the message of their error. What the owner
 * claims while this is under way is left to the next time.
 */
export const reapFunction = `
CREATE OR REPLACE FUNCTION inbox.reap(who text, now_ms bigint)
RETURNS TABLE (run_id bigint, handler text, event_id text, attempt integer, error_name text, error_message text) LANGUAGE plpgsql
${callSettings} AS $$
#variable_conflict use_column
DECLARE
  ids bigint[];
BEGIN
  PERFORM ${workLock};
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
