/** The lane that a key of a handler's generation falls on. */
export const laneFunction = `
CREATE OR REPLACE FUNCTION inbox.lane_of(handler integer, replay integer, key text) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (hashtextextended(key, handler::bigint * 1000003 + replay) & 65535)::integer $$`
