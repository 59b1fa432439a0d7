import Sqlite, { type Database } from 'better-sqlite3'
import { systemClock } from '../../src/clock.ts'
import { openMemoryStore } from '../../src/inbox/sqlite/open.ts'

let image: Promise<Buffer> | undefined

/** A database in memory as `openMemoryStore` leaves it. Copied, and its statements kept, because each simulation has dozens of starts. */
export async function openDatabase(): Promise<Database> {
  const db = new Sqlite(await (image ??= makeImage()))
  const prepared = new Map<string, ReturnType<Database['prepare']>>()
  const prepare = db.prepare.bind(db)
  db.prepare = ((text: string) => {
    const statement = prepared.get(text) ?? prepare(text)
    prepared.set(text, statement)
    return statement
  }) as Database['prepare']
  return db
}

async function makeImage(): Promise<Buffer> {
  const open = await openMemoryStore({ clock: systemClock })
  const made = open.db.serialize()
  open.close()
  return made
}
