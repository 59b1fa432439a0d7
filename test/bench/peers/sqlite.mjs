import { setTimeout as wait } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { handle, isHandling, serve } from './serve.mjs'

/** Express and better-sqlite3: one transaction per request, and a loop that handles what is stored. */
const db = new Database(process.env.BENCH_STORE)
db.pragma('journal_mode = WAL')
db.pragma('synchronous = FULL')
db.exec(`
  CREATE TABLE IF NOT EXISTS event (seq INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, raw BLOB NOT NULL, done INTEGER NOT NULL DEFAULT 0);
  CREATE INDEX IF NOT EXISTS open ON event (seq) WHERE done = 0;
`)
const insert = db.prepare('INSERT OR IGNORE INTO event (id, raw) VALUES (?, ?)')
const next = db.prepare('SELECT seq, raw FROM event WHERE done = 0 ORDER BY seq LIMIT 100')
const finish = db.prepare('UPDATE event SET done = 1 WHERE seq <= ? AND done = 0')
const open = db.prepare('SELECT id FROM event WHERE done = 0').pluck()

serve(
  ({ id }, raw) => insert.run(id, raw),
  () => open.all(),
)

while (isHandling) {
  const events = next.all()
  for (const { raw } of events) handle(JSON.parse(raw.toString()))
  if (events.length > 0) finish.run(events.at(-1).seq)
  await wait(events.length > 0 ? 0 : 20)
}
