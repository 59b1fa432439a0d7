/**
 * `stable_digest`: see `NewEvent`. `source_key`: fetched public keys. Older programs can't run on this schema: they would give events of
 * other sources to handlers of the default source.
 */
export const sources: readonly string[] = [
  `ALTER TABLE inbox.event ADD stable_digest text COLLATE "C"`,
  `CREATE TABLE inbox.source_key (
     source text COLLATE "C" NOT NULL,
     id text COLLATE "C" NOT NULL,
     spki text NOT NULL,
     PRIMARY KEY (source, id)
   )`,
]
