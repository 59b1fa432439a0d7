import type { ClusterState } from '../cluster-port.ts'
import type { Database } from './database.ts'
import { fromStored } from './text.ts'

interface Row {
  readonly name: string
  readonly paused: boolean
  readonly concurrency: number | null
  readonly hasSuspects: boolean
}

/** Reads what other replicas may have changed; `known` is what this process knows by itself. */
export async function readClusterState(
  db: Database,
  known: Pick<ClusterState, 'replicas' | 'wasSilent'>,
): Promise<ClusterState> {
  const handlers = await db.query<Row>(
    `SELECT h.name, h.paused, h.concurrency, coalesce(s.is_there, false) AS "hasSuspects"
     FROM inbox.handler h LEFT JOIN LATERAL (
       SELECT true AS is_there FROM inbox.run r WHERE r.state = 2 AND r.state >= 1 AND r.state <= 2 AND r.handler_id = h.id LIMIT 1
     ) s ON true`,
  )
  const [found] = await db.query<{ paused: boolean }>(
    `SELECT coalesce((SELECT value = 1 FROM inbox.meta WHERE name = 'paused'), false) AS paused`,
  )
  const isAllPaused = found?.paused ?? false
  const suspects = handlers.filter(({ hasSuspects, paused }) => hasSuspects && !paused && !isAllPaused)
  return {
    ...known,
    paused: new Set(handlers.filter(({ paused }) => paused).map(({ name }) => fromStored(name))),
    isAllPaused,
    concurrencies: new Map(
      handlers.flatMap(({ name, concurrency }) => (concurrency === null ? [] : [[fromStored(name), concurrency]])),
    ),
    suspects: new Set(suspects.map(({ name }) => fromStored(name))),
  }
}
