import type { HandlerRoute, ReplayFilter } from '../port.ts'
import { createRouteKeys } from '../route-key.ts'
import type { Rows } from './database.ts'
import type { NewRun } from './new-runs.ts'
import { scan, type ScannedEvent } from './scan.ts'

/** Events looked at for one step; at once: few at first, for often these are enough. */
const mostScanned = 8_000
const firstPortion = 250
/** Bodies read at once, where a key stands in them. */
const bodiesAtOnce = 20

export interface PlanRequest {
  readonly filter: ReplayFilter
  /** The handlers that are to get an event of a type; null where it is not one that is looked for. */
  readonly routesFor: (type: string) => readonly HandlerRoute[] | null
  readonly fromSeq: number
  readonly lastSeq: number
  /** So many runs at the least, if there are as many: an event gets all of its runs or none. */
  readonly room: number
  readonly isLive: boolean
}

/** What a step of a replay or a backfill is to do. */
export interface Plan {
  /** Where the next step goes on. */
  readonly nextSeq: number
  readonly events: number
  /** Those of them without a body. */
  readonly skipped: number
  readonly runs: readonly NewRun[]
}

/** Looks for what the next step is to do; changes nothing. */
export async function planStep(rows: Rows, request: PlanRequest): Promise<Plan> {
  const { filter, routesFor, fromSeq, lastSeq, room, isLive } = request
  const wanted: { readonly event: ScannedEvent; readonly routes: readonly HandlerRoute[] }[] = []
  let [next, events, count] = [fromSeq, 0, 0]
  let size = firstPortion
  const isEnough = () => count >= room || next > lastSeq || next - fromSeq >= mostScanned
  while (!isEnough()) {
    const { found, nextSeq } = await scan(rows, filter, { fromSeq: next, size, lastSeq })
    next = nextSeq
    for (const event of found) {
      const routes = routesFor(event.type)
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
    const some = wanted.slice(at, at + bodiesAtOnce)
    const raws = await bodiesOf(
      rows,
      some.filter(({ routes }) => routes.some(readsBody)).map(({ event }) => event.seq),
    )
    for (const { event, routes } of some) {
      const { seq, id, key } = event
      const keyFor = createRouteKeys({ id, key: key ?? id, raw: () => raws.get(seq) })
      for (const route of routes) {
        runs.push({ seq, handler: route.name, key: keyFor(route), latest: isLive && route.latestOnly === true })
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
  const found = await rows.query<{ seq: number; raw: Buffer }>(
    `SELECT seq, raw FROM inbox.body WHERE seq = ANY ($1::bigint[])`,
    [seqs],
  )
  return new Map(found.map(({ seq, raw }) => [seq, raw]))
}
