import Sqlite, { type Database } from 'better-sqlite3'
import { systemClock } from '../../src/base/clock.ts'
import { openMemoryStore } from '../../src/inbox/sqlite/open.ts'

type Statement = ReturnType<Database['prepare']>
const forms = ['pluck', 'raw'] as const

let image: Promise<Buffer> | undefined

/** A database in memory as `openMemoryStore` leaves it. Copied, and its statements kept, because each simulation has dozens of starts. */
export async function openDatabase(): Promise<Database> {
  const db = new Sqlite(await (image ??= makeImage()))
  const prepared = new Map<string, Statement>()
  const prepare = db.prepare.bind(db)
  /** One for each form in which its rows are wanted, because a statement keeps the form that it was asked for once. */
  function keep(text: string, form?: (typeof forms)[number]): Statement {
    const key = `${form ?? 'rows'} ${text}`
    const known = prepared.get(key)
    if (known !== undefined) return known
    const statement = prepare(text)
    if (form !== undefined) statement[form]()
    else for (const other of forms) Object.defineProperty(statement, other, { value: () => keep(text, other) })
    prepared.set(key, statement)
    return statement
  }
  db.prepare = ((text: string) => keep(text)) as Database['prepare']
  return db
}

async function makeImage(): Promise<Buffer> {
  const open = await openMemoryStore({ clock: systemClock })
  const made = open.db.serialize()
  open.close()
  return made
}
