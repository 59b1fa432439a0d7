import type { ClusterPort, SinkTry } from '../cluster-port.ts'
import type { Database } from './database.ts'
import { note } from './records.ts'

interface Request {
  readonly id: number
  readonly detail: string
}

interface Detail {
  readonly handler: string
  readonly results: Readonly<Record<string, SinkTry>>
}

/** Older requests are ignored: their caller no longer waits. */
const requestMs = 10_000
/** Number of newest audit records that are searched for requests. */
const maxSearched = 50

const recentRequests = `
  SELECT id, detail FROM (SELECT id, at, action, detail FROM inbox.audit ORDER BY id DESC LIMIT ${maxSearched}) AS newest
  WHERE action = 'handler.try' AND at > inbox.now_ms() - ${requestMs} ORDER BY id`

export interface SinkTriesOptions {
  readonly db: Database
  readonly replicaId: string
}

type SinkTries = Pick<ClusterPort, 'requestTry' | 'tryResults' | 'onTry'>

/** Requests to try a sink and the results of the replicas, as audit records. `follow` executes requests of others. */
export function createSinkTries({ db, replicaId }: SinkTriesOptions): SinkTries & { follow(): Promise<void> } {
  const seen = new Set<number>()
  let listener: ((handler: string) => Promise<SinkTry>) | undefined

  async function execute({ id, detail }: Request): Promise<void> {
    const result = await listener?.(detailOf(detail).handler)
    if (result === undefined) return
    await db.exclusively(async (trx) => {
      const [row] = await trx.query<Request>(`SELECT id, detail FROM inbox.audit WHERE id = $1 FOR UPDATE`, [id])
      if (row === undefined) return
      const known = detailOf(row.detail)
      const updated = { ...known, results: { ...known.results, [replicaId]: result } }
      await trx.query(`UPDATE inbox.audit SET detail = $1 WHERE id = $2`, [JSON.stringify(updated), id])
    })
  }

  async function follow(): Promise<void> {
    if (listener === undefined) return
    const requests = await db.query<Request>(recentRequests)
    for (const request of requests) {
      if (seen.has(request.id)) continue
      seen.add(request.id)
      // Not awaited: a slow send must not delay the heartbeat. A lost result is `unanswered`.
      execute(request).catch(() => {})
    }
  }

  return {
    follow,
    async requestTry(handler, by) {
      const id = await db.exclusively((trx) => note(trx, 'handler.try', { handler, results: {} }, by))
      await follow()
      return id
    },
    async tryResults(id) {
      const [row] = await db.query<Request>(`SELECT id, detail FROM inbox.audit WHERE id = $1`, [id])
      return new Map(row === undefined ? [] : Object.entries(detailOf(row.detail).results))
    },
    onTry(onRequest) {
      listener = onRequest
    },
  }
}

function detailOf(stored: string): Detail {
  return JSON.parse(stored) as Detail
}
