import type { Clock } from '../../base/clock.ts'
import type { Lease, ReapResult, RunError, WorkPort } from '../port.ts'
import { bigintArray } from './arrays.ts'
import { createClaims, ownerIn } from './claims.ts'
import type { Database, Rows } from './database.ts'
import { registerHandlers } from './handlers.ts'
import type { Heed } from './heed-clock.ts'
import type { MakeOffer } from './offer.ts'
import { readState } from './state-ranges.ts'
import { fromStored, toStored } from './text.ts'
import { settle } from './verdicts.ts'

export interface WorkOptions {
  readonly db: Database
  readonly clock: Clock
  /** Of this process, among the replicas. */
  readonly replicaId: string
  /** Is told of what goes wrong in the background. */
  readonly onWarning: (text: string) => void
  readonly heed: Heed
}

export interface Work extends WorkPort {
  /** Something may have become claimable: here, or at another replica. */
  wake(): void
  /** For what is accepted here. */
  readonly offer: MakeOffer
  /** Waiting claims resolve with none; leases that are held are not touched. Idempotent. */
  close(): Promise<void>
}

/** What the dispatcher of one replica needs. All but `claim` throw `store_unavailable`, `store_full` or `shutting_down`. */
export function createWork({ db, clock, replicaId, onWarning, heed }: WorkOptions): Work {
  const claims = createClaims({ db, clock, replicaId, onWarning, heed })

  async function release(leases: readonly Pick<Lease, 'runId' | 'token'>[]): Promise<void> {
    if (leases.length === 0) return
    await settle(
      db,
      leases.map(({ runId, token }) => ({ runId, token, kind: 'release' })),
      clock.now(),
    )
    claims.wake()
  }

  return {
    register: (routes) => registerHandlers(db, routes),
    claim: (request) => claims.claim(request),
    readState: (handler, query) => readState(db, handler, query, clock.now()),
    async settle(outcomes) {
      if (outcomes.length === 0) return []
      await heed()
      const { results, areReady } = await settle(db, outcomes, clock.now())
      if (areReady) claims.wake()
      return results
    },
    async retire(owner, running) {
      await claims.retire(owner)
      if (running === undefined) return
      const others = await db.query<{ runId: number; token: number }>(
        `SELECT id AS "runId", token FROM inbox.run WHERE owner = $1 AND state + 0 = 3 AND id <> ALL ($2::bigint[])`,
        [toStored(ownerIn(replicaId, owner)), bigintArray(running)],
      )
      await release(others)
    },
    release,
    async reap(owner) {
      await claims.refuse(owner)
      await heed()
      const result = await reap(db, ownerIn(replicaId, owner), clock.now())
      claims.wake()
      return result
    },
    wake: () => claims.wake(),
    offer: (handlers) => claims.offer(handlers),
    close: () => claims.close(),
  }
}

interface ReapedRow {
  readonly handler: string
  readonly eventId: string
  readonly attempt: number
  readonly name: RunError['name'] | null
  readonly message: RunError['message'] | null
}

/** Ends the leases that are in an owner's name. Idempotent. `now` in milliseconds since 1970. */
async function reap(rows: Rows, owner: string, now: number): Promise<ReapResult> {
  const reaped = await rows.query<ReapedRow>(
    `SELECT handler, event_id AS "eventId", attempt, error_name AS name, error_message AS message FROM inbox.reap($1, $2)`,
    [toStored(owner), now],
  )
  const dead = reaped.flatMap(({ handler, eventId, attempt, name, message }) => {
    if (name === null || message === null) return []
    return { handler: fromStored(handler), eventId: fromStored(eventId), attempt, error: { name, message } }
  })
  return { runs: reaped.length, dead }
}
