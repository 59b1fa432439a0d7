import { createHash } from 'node:crypto'
import type { HandlerRoute } from '../port.ts'
import { createRouteTable, type RouteTable } from '../routes.ts'
import type { Database, Rows } from './database.ts'
import { isRecent } from './replicas.ts'
import { toStoredJson } from './text.ts'

export interface DefinitionsOptions {
  readonly db: Database
  readonly replicaId: string
  /** A replica without a heartbeat for this many milliseconds holds no definitions. */
  readonly silentMs: number
  /** A handler that no replica holds still gets runs for this many milliseconds. */
  readonly orphanMs: number
}

/** A copy of the table `definition`. */
export interface KnownDefinitions {
  /** `counter.definitions`, which every change of the table increments. */
  readonly version: number
  /** A handler has several routes while replicas differ; the newest is last. */
  readonly routes: readonly HandlerRoute[]
  readonly routesOf: RouteTable
}

interface Held {
  readonly name: string
  readonly digest: string
  readonly route: string
}

interface Holding {
  readonly held: readonly Held[]
  /** When they were registered, by the database's clock; null before that. */
  since: number | null
}

/** SQL condition: a living replica holds the definition `d`. */
const isHeld = (silentMs: string) => `EXISTS (SELECT FROM inbox.replica r
  WHERE r.handlers ->> d.handler = d.digest AND ${isRecent(silentMs, 'r.beat_at')})`

/**
 * SQL condition: no replica has held the definition `d` for `orphanMs`, or for `silentMs` while another definition of its handler is held.
 * Not at once, because after an outage of the database or a change of its clock, living replicas count as dead until their next heartbeat.
 */
const isExpired = (silentMs: string, orphanMs: string) => `(d.unheld_at <= inbox.now_ms() - ${orphanMs}::float8
  OR d.unheld_at <= inbox.now_ms() - ${silentMs}::float8 AND EXISTS (
    SELECT FROM inbox.definition o WHERE o.handler = d.handler AND o.unheld_at IS NULL))`

export type Definitions = ReturnType<typeof createDefinitions>

/**
 * The routes of all replicas. Accept creates runs by this table, on any replica, whichever handlers that replica has loaded. A definition
 * consists of a handler's types, sources, order and key paths, identified by a digest. A replica with heartbeats holds the definitions that its row
 * in `replica` names. A definition that no replica holds stays until it expires (`isExpired`), or until its handler is removed.
 */
export function createDefinitions({ db, replicaId, silentMs, orphanMs }: DefinitionsOptions) {
  let last: KnownDefinitions | undefined
  let holding: Holding | undefined

  async function read(rows: Rows): Promise<KnownDefinitions> {
    const stored = await rows.query<{ version: number; name: string | null; route: string }>(
      `SELECT c.definitions AS version, d.handler AS name, d.route FROM inbox.counter c
       LEFT JOIN (inbox.definition d JOIN inbox.handler h ON h.name = d.handler) ON true ORDER BY d.since, h.id`,
    )
    const routes = stored.flatMap(({ name, route }) =>
      name === null ? [] : [{ ...(JSON.parse(route) as Omit<HandlerRoute, 'name'>), name }],
    )
    last = { version: stored[0]?.version ?? 0, routes, routesOf: createRouteTable(routes) }
    return last
  }

  /** Stores what this replica holds. Call in an exclusive transaction, so that each accept commits before or after it. */
  async function hold(trx: Rows, { held, since }: Holding): Promise<void> {
    await trx.query(`UPDATE inbox.replica SET handlers = $2, beat_at = clock_timestamp() WHERE id = $1`, [
      replicaId,
      digestsOf(held),
    ])
    const added = await trx.query(
      `INSERT INTO inbox.definition (handler, digest, route, since)
       SELECT n.name, n.digest, n.route, $2 FROM json_to_recordset($1::json) AS n(name text, digest text, route text)
       ON CONFLICT DO NOTHING RETURNING handler`,
      [toStoredJson(held), since],
    )
    await sweep(trx, added.length > 0)
  }

  /** Marks definitions that no replica holds, and removes expired ones. */
  async function sweep(trx: Rows, isChanged = false): Promise<void> {
    await trx.query(
      `UPDATE inbox.definition d SET unheld_at = CASE WHEN d.unheld_at IS NULL THEN inbox.now_ms() END
       WHERE ${isHeld('$1')} = (d.unheld_at IS NOT NULL)`,
      [silentMs],
    )
    const removed = await trx.query(`DELETE FROM inbox.definition d WHERE ${isExpired('$1', '$2')} RETURNING handler`, [
      silentMs,
      orphanMs,
    ])
    if (isChanged || removed.length > 0) await raiseVersion(trx)
  }

  return {
    /** Returns the latest copy; reads the table if there is none. Throws `store_unavailable`. */
    known: async (rows: Rows) => last ?? read(rows),
    /** Reads the table. Don't call it in a transaction that has changed the table: a rollback would leave a wrong copy. */
    read,
    /**
     * Replaces the definitions that this replica holds. Every later commit of accept uses them. Returns the concurrency of handlers for
     * which an operator set one. Throws `store_unavailable`; the replica keeps its old definitions then.
     */
    async register(routes: readonly HandlerRoute[]): Promise<Readonly<Record<string, number>>> {
      const before = holding
      const next: Holding = { held: routes.map(heldOf), since: null }
      holding = next
      try {
        const concurrencies = await db.exclusively(async (trx) => {
          const [row] = await trx.query<{ now: number }>(`SELECT inbox.now_ms() AS now`)
          next.since = row?.now ?? 0
          await setHandlers(trx, routes)
          await hold(trx, next)
          return trx.query<{ name: string; concurrency: number }>(
            `SELECT name, concurrency FROM inbox.handler WHERE concurrency IS NOT NULL`,
          )
        })
        // If this fails, the next accept or heartbeat reads the table.
        await read(db).catch(() => {})
        return Object.fromEntries(concurrencies.map(({ name, concurrency }) => [name, concurrency]))
      } catch (error) {
        holding = before
        throw error
      }
    },
    /** Call after each heartbeat. Throws `store_unavailable`. */
    async beat() {
      const registered = holding?.since === null ? undefined : holding
      const [row] = await db.query<{ version: number; isHolding: boolean; isDue: boolean }>(
        `SELECT c.definitions AS version,
           EXISTS (SELECT FROM inbox.replica r WHERE r.id = $1 AND r.handlers = $2::jsonb) AND NOT EXISTS (
             SELECT FROM jsonb_each_text($2::jsonb) o
             WHERE NOT EXISTS (SELECT FROM inbox.definition d WHERE d.handler = o.key AND d.digest = o.value)) AS "isHolding",
           EXISTS (SELECT FROM inbox.definition d
             WHERE ${isHeld('$3')} = (d.unheld_at IS NOT NULL) OR ${isExpired('$3', '$4')}) AS "isDue"
         FROM inbox.counter c`,
        [replicaId, digestsOf(registered?.held ?? []), silentMs, orphanMs],
      )
      // Other replicas considered this one dead and removed its definitions.
      if (registered !== undefined && row?.isHolding === false)
        await db.exclusively(async (trx) => {
          if (holding !== undefined && holding.since !== null) await hold(trx, holding)
        })
      // Only a replica with handlers sweeps: commands also open the inbox, but don't know `orphanMs`.
      else if (registered !== undefined && row?.isDue === true) await db.exclusively((trx) => sweep(trx))
      if (row?.version !== last?.version) await read(db)
    },
    /** Removes the definitions of a handler that no replica holds. Call in an exclusive transaction. Returns false if there were none. */
    async remove(trx: Rows, handler: string) {
      const removed = await trx.query(
        `DELETE FROM inbox.definition d WHERE d.handler = $1 AND NOT ${isHeld('$2')} RETURNING handler`,
        [handler, silentMs],
      )
      if (removed.length > 0) await raiseVersion(trx)
      return removed.length > 0
    },
  }
}

async function raiseVersion(trx: Rows): Promise<void> {
  await trx.query(`UPDATE inbox.counter SET definitions = definitions + 1`)
}

function heldOf({ name, types, sources, order, keyPaths }: HandlerRoute): Held {
  const route = JSON.stringify({
    types: types.toSorted(),
    order,
    ...(keyPaths && { keyPaths }),
    ...(sources && { sources }),
  })
  return { name, digest: createHash('sha256').update(route).digest('hex'), route }
}

/** The value of `replica.handlers`. */
function digestsOf(held: readonly Held[]): string {
  return toStoredJson(Object.fromEntries(held.map(({ name, digest }) => [name, digest])))
}

/** Stores the settings of handlers; the replica that registered last wins. `from` applies to new handlers only. */
async function setHandlers(trx: Rows, routes: readonly HandlerRoute[]): Promise<void> {
  const rows = routes.map(({ name, onDead = 'skip', latestOnly = false, from = 'now' }, place) => ({
    place,
    name,
    holds: onDead === 'hold',
    latest: latestOnly,
    from: from === 'beginning' ? 0 : from === 'now' ? null : from,
  }))
  const routesTable = `json_to_recordset($1::json) AS n(place integer, name text, holds boolean, latest boolean, "from" bigint)`
  await trx.query(
    `UPDATE inbox.handler h SET holds = n.holds, latest_only = n.latest FROM ${routesTable}
     WHERE h.name = n.name AND (h.holds <> n.holds OR h.latest_only <> n.latest)`,
    [toStoredJson(rows)],
  )
  await trx.query(
    `INSERT INTO inbox.handler (name, holds, latest_only, backfill_seq, backfill_from)
     SELECT n.name, n.holds, n.latest, CASE WHEN n."from" IS NOT NULL THEN 1 END, n."from" FROM ${routesTable}
     WHERE NOT EXISTS (SELECT FROM inbox.handler h WHERE h.name = n.name) ORDER BY n.place`,
    [toStoredJson(rows)],
  )
}
