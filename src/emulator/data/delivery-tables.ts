/** Events that were sent, to whom, and each attempt. `next_at` is there as long as a delivery is pending. */
export const deliveryTables = `
  CREATE TABLE event (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, type TEXT NOT NULL, body BLOB NOT NULL) STRICT;
  CREATE TABLE delivery (
    seq INTEGER PRIMARY KEY, event INTEGER NOT NULL, endpoint TEXT NOT NULL, url TEXT NOT NULL, state TEXT NOT NULL,
    attempts INTEGER NOT NULL, created_at INTEGER NOT NULL, next_at INTEGER, is_replay INTEGER NOT NULL,
    last_status INTEGER, last_failure TEXT
  ) STRICT;
  CREATE INDEX delivery_due ON delivery (endpoint, next_at, seq) WHERE next_at IS NOT NULL;
  CREATE INDEX delivery_event ON delivery (event, endpoint);
  CREATE INDEX delivery_not_acknowledged ON delivery (state, seq) WHERE state <> 'acknowledged';
  CREATE TABLE attempt (
    delivery INTEGER NOT NULL, seq INTEGER NOT NULL, attempt INTEGER NOT NULL, at INTEGER NOT NULL,
    latency_ms REAL NOT NULL, status INTEGER, failure TEXT, is_extra INTEGER NOT NULL, next_at INTEGER, rest TEXT NOT NULL,
    PRIMARY KEY (delivery, seq)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE delivery_meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
`
