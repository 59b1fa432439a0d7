/**
 * Routes of handlers: see `Definitions`. `route`: types, order and key paths as JSON; `digest`: its SHA-256. `since`: first registration.
 * `unheld_at`: since when no replica holds it; null if one does. `counter.definitions` counts changes of the table. Older programs can't run
 * on this schema, because they create runs only of handlers that they have loaded themselves.
 */
export const definitions: readonly string[] = [
  `CREATE TABLE inbox.definition (
     handler text COLLATE "C" NOT NULL,
     digest text COLLATE "C" NOT NULL,
     route text NOT NULL,
     since bigint NOT NULL,
     unheld_at bigint,
     PRIMARY KEY (handler, digest)
   )`,
  `ALTER TABLE inbox.counter ADD definitions bigint NOT NULL DEFAULT 0`,
  `ALTER TABLE inbox.handler DROP first_seq`,
  `UPDATE inbox.replica SET handlers = NULL`,
]
