import { type HandlerRoute, type ReplayFilter, eventStatuses } from '../port.ts'
import { minReadyRuns, maxOpenRuns, maxBlockedRuns } from '../jobs.ts'
import { createRouteKeys } from '../route-key.ts'
import type { RoutedEvent } from '../routes.ts'
import { isClaimable, isOpen, runState } from '../run-sql.ts'
import type { Rows } from './database.ts'
import { matchesFilter, partsOfKey, type ScannedEvent } from '../replays.ts'
import { progressOf, type NewRun } from './runs.ts'

/** Maximum events scanned per step. Portions start small, because a few events are often enough. */
const maxScanned = 8_000
const firstPortion = 250
/** Bodies per read, for keys from `keyPaths`. */
const bodiesAtOnce = 20

export interface PlanRequest {
  readonly filter: ReplayFilter
  /** Routes of the handlers that get an event; null for events that the job ignores. */
  readonly routesFor: (event: RoutedEvent) => readonly HandlerRoute[] | null
  readonly fromSeq: number
  readonly lastSeq: number
  /** Number of runs to plan. May be exceeded, because an event gets all of its runs or none. */
  readonly room: number
}

/** Plan of a step of a replay or a backfill. */
export interface Plan {
  /** Sequence number at which the next step continues. */
  readonly nextSeq: number
  /** Matching events. */
  readonly events: number
  /** Matching events without a body. */
  readonly skipped: number
  readonly runs: readonly NewRun[]
}

/** Plans the next step. Changes nothing. */
export async function planStep(rows: Rows, request: PlanRequest): Promise<Plan> {
  const { filter, routesFor, fromSeq, lastSeq, room } = request
  const wanted: { readonly event: PlannedEvent; readonly routes: readonly HandlerRoute[] }[] = []
  let [next, events, count] = [fromSeq, 0, 0]
  let size = firstPortion
  const isEnough = () => count >= room || next > lastSeq || next - fromSeq >= maxScanned
  while (!isEnough()) {
    // Ids are looked up in one query: few events match them.
    const until = filter.ids === undefined ? Math.min(next + size - 1, lastSeq) : lastSeq
    const matching = await scan(rows, filter, next, until)
    next = until + 1
    for (const event of matching) {
      const routes = routesFor(event)
      if (routes === null) continue
      events += 1
      if (!event.hasBody) continue
      wanted.push({ event, routes })
      count += routes.length
      if (count < room) continue
      next = event.seq + 1
      break
    }
    size *= 2
  }
  const runs: NewRun[] = []
  for (let at = 0; at < wanted.length; at += bodiesAtOnce) {
    const batch = wanted.slice(at, at + bodiesAtOnce)
    const raws = await bodiesOf(
      rows,
      batch.filter(({ routes }) => routes.some(readsBody)).map(({ event }) => event.seq),
    )
    for (const { event, routes } of batch) {
      const { seq, id, key } = event
      const keyFor = createRouteKeys({ ...event, key: key ?? id }, () => raws.get(seq))
      for (const route of routes) {
        runs.push({ seq, handler: route.name, key: keyFor(route) })
      }
    }
  }
  return { nextSeq: next, events, skipped: events - wanted.length, runs }
}

function readsBody({ order, keyPaths }: HandlerRoute): boolean {
  return order === 'key' && keyPaths !== undefined
}

async function bodiesOf(rows: Rows, seqs: readonly number[]): Promise<ReadonlyMap<number, Buffer>> {
  if (seqs.length === 0) return new Map()
  const bodies = await rows.query<{ seq: number; raw: Buffer }>(
    `SELECT seq, raw FROM inbox.body WHERE seq = ANY ($1::bigint[])`,
    [seqs],
  )
  return new Map(bodies.map(({ seq, raw }) => [seq, raw]))
}

interface PlannedEvent extends ScannedEvent {
  readonly hasBody: boolean
}

/** Finds matching events from `fromSeq` up to `lastSeq`, ignoring the filter's handler. The SQL may match more; `filtered` checks all. */
async function scan(rows: Rows, filter: ReplayFilter, fromSeq: number, lastSeq: number): Promise<PlannedEvent[]> {
  const { ids, type, network, from, to } = filter
  const read = await rows.query<PlannedEvent>(
    `SELECT e.seq, e.id, e.type, e.received_at AS "receivedAt", e.key, e.secret_label AS "secretLabel", e.final_status AS "finalStatus",
       coalesce(body.is_there, false) AS "hasBody"
     FROM inbox.event e LEFT JOIN LATERAL (SELECT true AS is_there FROM inbox.body b WHERE b.seq = e.seq LIMIT 1) body ON true
     WHERE e.seq >= $1 AND e.seq <= $2 AND ($3::text IS NULL OR e.type = $3) AND ($4::text IS NULL OR starts_with(e.key, $4))
       AND ($5::bigint IS NULL OR e.received_at >= $5) AND ($6::bigint IS NULL OR e.received_at < $6)
       ${ids === undefined ? '' : 'AND e.id = ANY ($7::text[])'}
     ORDER BY e.seq`,
    [
      fromSeq,
      lastSeq,
      type ?? null,
      network === undefined ? null : `${network}:`,
      from === undefined ? null : Math.ceil(from),
      to === undefined ? null : Math.ceil(to),
      ...(ids === undefined ? [] : [ids]),
    ],
  )
  return filtered(rows, filter, read)
}

async function filtered(rows: Rows, filter: ReplayFilter, events: readonly PlannedEvent[]): Promise<PlannedEvent[]> {
  const { status, ...others } = filter
  const matching = events.filter((event) =>
    matchesFilter(others, { ...event, ...partsOfKey(event.key), status: () => 'done' }),
  )
  if (status === undefined) return matching
  const unpruned = matching.filter(({ finalStatus }) => finalStatus === null).map(({ seq }) => seq)
  const progress = await progressOf(rows, unpruned)
  return matching.filter(({ seq, finalStatus }) => {
    return status === (finalStatus === null ? progress.get(seq)?.status : (eventStatuses[finalStatus] ?? 'done'))
  })
}

/**
 * SQL that returns an `OpenBacklog` for the runs of a replay (0: live) and the handlers `h` that meet a condition. `replayId` is an SQL
 * expression. Both counts use an index. Open runs are counted up to `maxBlockedRuns` only if few are ready.
 */
export function backlogOf({ handlers, replayId }: BacklogQuery): string {
  return `SELECT coalesce(sum(o.count), 0)::integer AS open, coalesce(sum(y.count), 0)::integer AS ready
    FROM inbox.handler h CROSS JOIN LATERAL (
      SELECT count(*) AS count FROM (
        SELECT 1 FROM inbox.run r
        WHERE r.state = ${runState.ready} AND ${isClaimable('r.')} AND r.handler_id = h.id AND r.replay_id = ${replayId}
        ORDER BY r.state, r.handler_id, r.replay_id, r.run_at, r.id LIMIT ${minReadyRuns}
      ) few
    ) y CROSS JOIN LATERAL (
      SELECT CASE WHEN y.count < ${minReadyRuns} THEN ${openCount(replayId, maxBlockedRuns)} ELSE ${openCount(replayId, maxOpenRuns)} END AS count
    ) o WHERE ${handlers}`
}

interface BacklogQuery {
  readonly handlers: string
  readonly replayId: string
}

/** SQL that counts open runs of the handler `h` without dead letters, up to `max`. */
function openCount(replayId: string, max: number): string {
  return `(SELECT count(*) FROM (
    SELECT 1 FROM inbox.run r WHERE r.handler_id = h.id AND r.replay_id = ${replayId} AND ${isOpen('r.')} AND r.state < ${runState.held}
    ORDER BY r.handler_id, r.replay_id, r.key, r.id LIMIT ${max}
  ) few)`
}
