import type { HandlerRoute } from '../port.ts'
import type { Database, Rows } from './database.ts'
import { fromStored, toStored } from './text.ts'

interface KnownRow {
  readonly name: string
  readonly holds: boolean
  readonly latestOnly: boolean
}

/**
 * Makes the handlers known, with what the database needs to know of each; one that is new and wants older events is to get them first.
 * Those that are gone stay. Gives how many runs of a handler may run at once, where somebody set that. Throws `store_unavailable`.
 */
export async function registerHandlers(
  db: Database,
  routes: readonly HandlerRoute[],
): Promise<Readonly<Record<string, number>>> {
  // At most starts there is nothing to change, and nobody has to wait for that.
  if ((await changesFor(db, routes)).length > 0)
    await db.alone(async (trx) => setAll(trx, await changesFor(trx, routes)))
  const rows = await db.query<{ name: string; concurrency: number }>(
    `SELECT name, concurrency FROM inbox.handler WHERE concurrency IS NOT NULL`,
  )
  return Object.fromEntries(rows.map(({ name, concurrency }) => [fromStored(name), concurrency]))
}

/** The routes that the database does not know, or not as they are. */
async function changesFor(rows: Rows, routes: readonly HandlerRoute[]): Promise<readonly HandlerRoute[]> {
  const known = await rows.query<KnownRow>(`SELECT name, holds, latest_only AS "latestOnly" FROM inbox.handler`)
  const byName = new Map(known.map((row) => [fromStored(row.name), row]))
  return routes.filter((route) => {
    const row = byName.get(route.name)
    return row === undefined || row.holds !== holds(route) || row.latestOnly !== latestOnly(route)
  })
}

async function setAll(trx: Rows, routes: readonly HandlerRoute[]): Promise<void> {
  for (const route of routes) {
    const { name, from = 'now' } = route
    // Of one that is known it is not asked from when on.
    const receivedFrom = from === 'beginning' ? 0 : from === 'now' ? null : from
    await trx.query(
      `INSERT INTO inbox.handler (name, holds, latest_only, backfill_seq, backfill_from, first_seq)
       VALUES ($1, $2, $3, $4::bigint, $5, coalesce($4::bigint, (SELECT last_seq + 1 FROM inbox.counter)))
       ON CONFLICT (name) DO UPDATE SET holds = excluded.holds, latest_only = excluded.latest_only`,
      [toStored(name), holds(route), latestOnly(route), receivedFrom === null ? null : 1, receivedFrom],
    )
  }
}

const holds = ({ onDead = 'skip' }: HandlerRoute) => onDead === 'hold'
const latestOnly = ({ latestOnly: isLatest = false }: HandlerRoute) => isLatest
