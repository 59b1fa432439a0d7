import { callSettings } from './promote.ts'

/** Gives back all runs of claims whose answer nobody had: as if they had never been claimed. Gives how many there were. */
export const releaseClaimsFunction = `
CREATE OR REPLACE FUNCTION inbox.release_claims(owners text[], claims bigint[], now_ms bigint) RETURNS integer LANGUAGE plpgsql
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
    zeros, array_fill(NULL::text, ARRAY[cardinality(ids)]), '[]', '[]', '[]', 0, now_ms) s);
END $$`
