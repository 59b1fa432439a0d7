import type { ClusterState } from '../cluster-port.ts'
import type { Database } from './database.ts'
import { fromStored } from './text.ts'

interface Row {
  readonly name: string
  readonly paused: boolean
  readonly concurrency: number | null
}

/** Reads what other replicas may have changed; `known` is what this process knows by itself. */
export async function readClusterState(
  db: Database,
  known: Pick<ClusterState, 'replicas' | 'wasSilent'>,
): Promise<ClusterState> {
  const handlers = await db.query<Row>('SELECT name, paused, concurrency FROM inbox.handler')
  const [found] = await db.query<{ paused: boolean; suspects: boolean }>(
    `SELECT coalesce((SELECT value = 1 FROM inbox.meta WHERE name = 'paused'), false) AS paused,
       EXISTS (SELECT 1 FROM inbox.run WHERE state = 2 AND state >= 1 AND state <= 2) AS suspects`,
  )
  return {
    ...known,
    paused: new Set(handlers.filter(({ paused }) => paused).map(({ name }) => fromStored(name))),
    isAllPaused: found?.paused ?? false,
    concurrencies: new Map(
      handlers.flatMap(({ name, concurrency }) => (concurrency === null ? [] : [[fromStored(name), concurrency]])),
    ),
    hasSuspects: found?.suspects ?? false,
  }
}
