import type { Clock, Timer } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { ClaimRequest, DispatchStore, Lease, RunError, StoredEvent } from '../port.ts'
import type { OnWarning } from '../types.ts'
import type { ClaimHandoff, KnownClaim, OpenHandoff } from './accept.ts'
import { bigintArray, textArray, type Rows } from './database.ts'
import { readState, settle, type Verdict } from './settle.ts'
import { fromStored, fromStoredOrNull, toStored } from './text.ts'

export interface WorkOptions {
  readonly db: Rows
  readonly clock: Clock
  readonly replicaId: string
  readonly onWarning: OnWarning
}

/**
 * The `DispatchStore` of a replica. `claim` never rejects: it waits while the database is unavailable. All other methods throw
 * `store_unavailable`, `store_full` or `shutting_down`.
 */
export interface Work extends Omit<DispatchStore, 'register'> {
  /** Call when runs may have become claimable, here or at another replica. */
  wake(): void
  /** Reserves waiting claims for accept, unless their handler has a backlog. */
  readonly openHandoff: OpenHandoff
  /** Resolves waiting claims empty. Leases stay. Idempotent. */
  close(): Promise<void>
}

interface WaitingClaim {
  readonly request: ClaimRequest
  readonly resolve: (leases: readonly Lease[]) => void
}

/** Maximum wait before the next search for claimable runs, in case a notification was missed. */
const pollMs = 2_000
/** Delay after a failed search. */
const retryMs = 500
/** Delay before the next search if the due runs are locked by another replica. */
const lockedMs = 20
/** Interval for releasing lost claims. */
const releaseMs = 1_000
/** With this many lost claims, accept gets no claims, because they might be lost too. */
const maxLostClaims = 100

export function createWork({ db, clock, replicaId, onWarning }: WorkOptions): Work {
  const lost = createLostClaims(db, clock)
  /** Owners whose claims get no more runs. */
  const retired = new Set<string>()
  /** Owners that are gone. Leases that their claims still get are released. */
  const refused = new Set<string>()
  /** Kinds of claims without claimable runs (see `kindOf`), and when to search again: milliseconds since 1970. */
  const idle = new Map<string, number>()
  /** Kinds whose latest claim found no further runs. */
  const drained = new Set<string>()
  /** Claims reserved by accept. Each promise resolves when its handoff ends. */
  const offers = new Set<Promise<void>>()
  let waiting: WaitingClaim[] = []
  /** Waiting claims in the current statement. */
  let inStatement: readonly WaitingClaim[] = []
  let isServing = false
  /** The current statement. */
  let statement: Promise<void> | undefined
  /** True if runs may have become claimable since the current statement started. */
  let isChanged = false
  let isFailing = false
  let isClosed = false
  let lastId = 0
  let timer: Timer | undefined

  /** True if it is time to search runs for this claim. A wait above `pollMs` means that the clock was set back. */
  function isDue({ request }: WaitingClaim): boolean {
    if (retired.has(request.owner)) return false
    const waitMs = (idle.get(kindOf(request)) ?? -Infinity) - clock.now()
    return waitMs <= 0 || waitMs > pollMs
  }

  function wake(): void {
    idle.clear()
    drained.clear()
    isChanged = true
    startOrWait()
  }

  /** Starts serving if a claim is due or lost claims must be released, else sets a timer. */
  function startOrWait(): void {
    if (lost.count > 0) start()
    else serveDue()
  }

  /** Starts serving if a claim is due, else sets a timer for the next one. */
  function serveDue(): void {
    if (isServing || isClosed) return
    if (waiting.some(isDue)) return start()
    timer?.cancel()
    const open = waiting.filter(({ request }) => !retired.has(request.owner))
    const waits = open.map(({ request }) => (idle.get(kindOf(request)) ?? 0) - clock.now())
    if (lost.count > 0) waits.push(releaseMs)
    if (waits.length > 0) timer = clock.after(Math.min(...waits), startOrWait)
  }

  function start(): void {
    if (isServing || isClosed) return
    timer?.cancel()
    isServing = true
    void serve()
  }

  /** Runs one statement after the other while there may be claimable runs. */
  async function serve(): Promise<void> {
    // Waits until all claims of this turn of the event loop have arrived, to serve them with one statement.
    await new Promise((resolve) => setImmediate(resolve))
    try {
      do {
        isChanged = false
        statement = serveOnce()
        await statement
      } while (!isClosed && isChanged && waiting.some(isDue))
      isFailing = false
    } catch (error) {
      if (!isFailing && !isClosed) onWarning('claiming runs failed', { error: messageOf(error) })
      isFailing = true
    }
    statement = undefined
    isServing = false
    if (!isFailing) return serveDue()
    if (!isClosed) timer = clock.after(retryMs, wake)
  }

  async function serveOnce(): Promise<void> {
    if (await lost.release()) {
      idle.clear()
      drained.clear()
    }
    if (isClosed || !waiting.some(isDue)) return
    const claims = waiting.filter(isDue)
    inStatement = claims
    const known = claims.map(toKnown)
    // `dueIn` is added to the time before the call, so the next search may be early, but never late.
    const askedAt = clock.now()
    let results: readonly ClaimResult[]
    try {
      results = await takeLeases(db, known, askedAt)
    } catch (error) {
      lost.addUnanswered(known)
      throw error
    } finally {
      inStatement = []
    }
    for (const [index, claim] of claims.entries()) {
      const { leases = [], dueIn = null, isMore = false } = results[index] ?? {}
      if (isMore) isChanged = true
      if (leases.length > 0) {
        waiting = waiting.filter((other) => other !== claim)
        resolveClaim(claim, known.slice(index, index + 1), leases)
      }
      if (isMore || isChanged || leases.length === claim.request.max) drained.delete(kindOf(claim.request))
      else {
        drained.add(kindOf(claim.request))
        const nextAt = dueIn !== null && dueIn <= 0 ? clock.now() + lockedMs : askedAt + (dueIn ?? Infinity)
        if (leases.length === 0) idle.set(kindOf(claim.request), Math.min(nextAt, clock.now() + pollMs))
      }
    }
  }

  /** Stored name of an owner: unique among replicas. */
  function ownerInDatabase(owner: string): string {
    return `${replicaId} ${owner}`
  }

  function toKnown({ request }: WaitingClaim): KnownClaim {
    return { ...request, id: ++lastId, owner: ownerInDatabase(request.owner) }
  }

  /** Resolves a claim with its leases. If its owner is gone, releases them and resolves it empty. */
  function resolveClaim(claim: WaitingClaim, known: readonly KnownClaim[], leases: readonly Lease[]): void {
    const isRefused = isClosed || refused.has(claim.request.owner)
    if (isRefused) lost.addRefused(known)
    claim.resolve(isRefused ? [] : leases)
  }

  function openHandoff(handlers: readonly string[]): ClaimHandoff | null {
    const offered = waiting.filter((claim) => {
      const { request } = claim
      const [handler = '', ...others] = request.handlers
      const wantsNewRuns = !request.suspects && others.length === 0 && handlers.includes(handler)
      return wantsNewRuns && drained.has(kindOf(request)) && !retired.has(request.owner) && !inStatement.includes(claim)
    })
    if (offered.length === 0 || isClosed || lost.count >= maxLostClaims) return null
    waiting = waiting.filter((claim) => !offered.includes(claim))
    const known = offered.map(toKnown)
    const { promise, resolve } = Promise.withResolvers<void>()
    offers.add(promise)

    function end(given: ReadonlyMap<number, readonly Lease[]>): void {
      for (const [index, claim] of offered.entries()) {
        const leases = given.get(known[index]?.id ?? 0) ?? []
        if (leases.length > 0) resolveClaim(claim, known.slice(index, index + 1), leases)
        else if (isClosed || retired.has(claim.request.owner)) claim.resolve([])
        else waiting.push(claim)
      }
      offers.delete(promise)
      resolve()
      serveDue()
    }

    return {
      claims: known,
      end,
      lose() {
        lost.addUnanswered(known)
        end(new Map())
        wake()
      },
    }
  }

  /** Waits for the current statement and offers, then resolves the remaining claims of the matching owners empty. */
  async function endClaims(which: (owner: string) => boolean): Promise<void> {
    await Promise.allSettled([statement, ...offers])
    const ending = waiting.filter(({ request }) => which(request.owner))
    waiting = waiting.filter((claim) => !ending.includes(claim))
    for (const claim of ending) claim.resolve([])
  }

  /** Resolves the claims of an owner. Claims in the current statement may still get leases, unless the owner is in `refused`. */
  async function retireOwner(owner: string): Promise<void> {
    retired.add(owner)
    await endClaims((other) => other === owner)
  }

  async function release(leases: readonly Pick<Lease, 'runId' | 'token'>[]): Promise<void> {
    if (leases.length === 0) return
    const releases = leases.map(({ runId, token }) => ({ runId, token, kind: 'release' }) as const)
    await settle(db, releases, clock.now())
    wake()
  }

  return {
    wake,
    openHandoff,
    release,
    readState: (handler, query) => readState(db, handler, query),
    claim(request) {
      if (isClosed || retired.has(request.owner) || request.max < 1) return Promise.resolve([])
      return new Promise((resolve) => {
        waiting.push({ request, resolve })
        serveDue()
      })
    },
    async settle(outcomes) {
      const { results, areReady } = await settle(db, outcomes, clock.now())
      if (areReady) wake()
      return results
    },
    async retire(owner, running) {
      await retireOwner(owner)
      if (running === undefined) return
      const others = await db.query<{ runId: number; token: number }>(
        `SELECT id AS "runId", token FROM inbox.run WHERE owner = $1 AND state + 0 = 3 AND id <> ALL ($2::bigint[])`,
        [toStored(ownerInDatabase(owner)), bigintArray(running)],
      )
      await release(others)
    },
    async reap(owner) {
      refused.add(owner)
      await retireOwner(owner)
      await lost.release()
      const reaped = await reapOwner(db, toStored(ownerInDatabase(owner)))
      wake()
      return {
        runs: reaped.length,
        dead: reaped.flatMap(({ name, message, ...run }) =>
          name === null || message === null ? [] : { ...run, error: { name, message } },
        ),
      }
    },
    async close() {
      isClosed = true
      timer?.cancel()
      await endClaims(() => true)
      await lost.release().catch(() => {})
    },
  }
}

interface ReapedRun {
  readonly handler: string
  readonly eventId: string
  readonly attempt: number
  /** Name and message of the error if the run became a dead letter; else null. */
  readonly name: RunError['name'] | null
  readonly message: RunError['message'] | null
}

/** Ends the leases of an owner (its stored name). Idempotent. */
export async function reapOwner(rows: Rows, owner: string): Promise<readonly ReapedRun[]> {
  const reaped = await rows.query<ReapedRun>(
    `SELECT handler, event_id AS "eventId", attempt, error_name AS name, error_message AS message FROM inbox.reap($1)`,
    [owner],
  )
  return reaped.map((run) => ({ ...run, handler: fromStored(run.handler), eventId: fromStored(run.eventId) }))
}

/** Result of a claim. */
export interface ClaimResult {
  readonly leases: readonly Lease[]
  /** For a claim without leases: milliseconds until its next run is due. Null: it has no future run, or it got leases. */
  readonly dueIn: number | null
  /** True if some claimed runs could not be leased. There may be more runs to claim. */
  readonly isMore: boolean
}

interface ClaimedRow extends Pick<Lease, 'runId' | 'token' | 'handler' | 'attempt' | 'failed' | 'crashed' | 'key'> {
  readonly claimId: number
  readonly replayId: number
  readonly newKeys: boolean | null
  readonly seq: number
}

/** A claim that got no runs. */
interface DueRow {
  readonly claimId: number
  readonly runId: null
  readonly dueIn: number | null
}

/** The event, body and outbox item of a run. `id` and `raw` are null if the event or its body is missing. */
interface LeaseRow extends Pick<StoredEvent, 'type' | 'createdAt' | 'receivedAt' | 'secretLabel'> {
  readonly runId: number
  readonly id: string | null
  readonly key: string | null
  readonly trace: string | null
  readonly raw: Uint8Array | null
  readonly payload: string | null
  readonly idempotencyKey: string | null
}

const bodyMissing: RunError = {
  name: 'body_missing',
  message: 'the event or its body is missing in the database: it was restored in part or changed by hand',
}
/** A claim whose bodies reach this size gets no more leases. Its other claimed runs are released. */
const maxClaimBytes = 4 * 1024 * 1024

/**
 * Takes runs for claims and reads their leases. Returns one result per claim, in order. `now`: milliseconds since 1970 by this machine's
 * clock. If it throws, the claims may have taken runs: release them by owner and claim id.
 */
export async function takeLeases(rows: Rows, claims: readonly KnownClaim[], now: number): Promise<ClaimResult[]> {
  const asked = claims.map(({ id, handlers, max, owner, suspects }) => {
    return { id, handlers: handlers.map(toStored), max, owner: toStored(owner), suspects }
  })
  const found = await rows.query<ClaimedRow | DueRow>(
    `SELECT claim_id AS "claimId", run_id AS "runId", token, handler, attempt, failed, crashed, key, replay_id AS "replayId",
       new_keys AS "newKeys", event_seq AS seq, due_in AS "dueIn"
     FROM inbox.claim($1::json)`,
    [JSON.stringify(asked)],
  )
  const runs = found.filter((row): row is ClaimedRow => row.runId !== null)
  const leases = runs.length === 0 ? new Map<number, Lease[]>() : await toLeases(rows, runs, now)
  return claims.map(({ id }) => {
    const own = leases.get(id) ?? []
    const due = found.find((row): row is DueRow => row.claimId === id && row.runId === null)
    return {
      leases: own,
      dueIn: due?.dueIn ?? null,
      isMore: runs.filter(({ claimId }) => claimId === id).length > own.length,
    }
  })
}

/** Leases by claim id. Releases runs beyond `maxClaimBytes`, and turns runs without a body into dead letters. */
async function toLeases(rows: Rows, runs: readonly ClaimedRow[], now: number): Promise<Map<number, Lease[]>> {
  const details = await rows.query<LeaseRow>(
    `SELECT run_id AS "runId", id, type, created_at AS "createdAt", received_at AS "receivedAt", key, secret_label AS "secretLabel", trace,
       raw, payload, idempotency_key AS "idempotencyKey"
     FROM inbox.read_leases($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint)`,
    [
      bigintArray(runs.map(({ claimId }) => claimId)),
      bigintArray(runs.map(({ runId }) => runId)),
      bigintArray(runs.map(({ seq }) => seq)),
      maxClaimBytes,
    ],
  )
  const detailOf = new Map(details.map((detail) => [detail.runId, detail]))
  const leases = new Map<number, Lease[]>()
  const unusable: Verdict[] = []
  for (const run of runs) {
    const { runId, token, claimId } = run
    const detail = detailOf.get(runId)
    if (detail === undefined) unusable.push({ runId, token, kind: 'release' })
    else if (detail.id === null || detail.raw === null)
      unusable.push({ runId, token, kind: 'dead', startedAt: now, endedAt: now, error: bodyMissing })
    else {
      const lease = toLease(run, detail, fromStored(detail.id), detail.raw)
      const others = leases.get(claimId)
      if (others === undefined) leases.set(claimId, [lease])
      else others.push(lease)
    }
  }
  if (unusable.length > 0) await settle(rows, unusable, now)
  return leases
}

function toLease(run: ClaimedRow, row: LeaseRow, id: string, raw: Uint8Array): Lease {
  const { runId, token, attempt, failed, crashed, replayId, newKeys, seq } = run
  return {
    runId,
    token,
    handler: fromStored(run.handler),
    attempt,
    failed,
    crashed,
    event: {
      seq,
      id,
      type: fromStored(row.type),
      createdAt: fromStored(row.createdAt),
      receivedAt: row.receivedAt,
      key: fromStoredOrNull(row.key) ?? id,
      secretLabel: fromStored(row.secretLabel),
      raw,
      trace: fromStoredOrNull(row.trace),
    },
    key: fromStoredOrNull(run.key),
    replay: replayId === 0 ? null : { id: replayId, newKeys: newKeys ?? false },
    item:
      row.payload === null || row.idempotencyKey === null
        ? null
        : { payload: fromStored(row.payload), idempotencyKey: fromStored(row.idempotencyKey) },
  }
}

/** Claims of the same kind accept the same runs. */
function kindOf({ handlers, suspects }: ClaimRequest): string {
  return `${suspects} ${handlers.join(' ')}`
}

/**
 * How long runs of a lost claim may still appear: PostgreSQL finishes a statement even if its client is gone. It usually takes less than
 * `soonMs`, but longer after a stalled disk or machine.
 */
const lateMs = 3_600_000
const soonMs = 30_000
/** Search intervals for runs of lost claims, within `soonMs` and afterwards. */
const searchMs = { soon: 1_000, later: 30_000 } as const

/** Lost claims: nobody received the leases that they may have got. Their runs are released, and the attempt isn't counted. */
function createLostClaims(rows: Rows, clock: Clock) {
  /** Lost claims, and until when to search for their runs: milliseconds since 1970. */
  const lost = new Map<KnownClaim, number>()
  /** Number of additions. Claims added during a search make the next search due. */
  let added = 0
  let nextSearchAt = -Infinity
  let searchedAt = -Infinity

  function add(claims: readonly KnownClaim[], until: number): void {
    for (const claim of claims) lost.set(claim, until)
    added++
    nextSearchAt = -Infinity
  }

  return {
    /** Adds claims without a response. The database may still be executing them. */
    addUnanswered: (claims: readonly KnownClaim[]) => add(claims, clock.now() + lateMs),
    /** Adds claims whose response arrived, but whose owner is gone. They are searched only once. */
    addRefused: (claims: readonly KnownClaim[]) => add(claims, -Infinity),
    get count() {
      return lost.size
    },
    /** Releases runs of lost claims, unless the next search isn't due. Returns true if runs were released. Throws `store_unavailable`. */
    async release(): Promise<boolean> {
      const now = clock.now()
      // The second comparison detects a clock that was set back.
      if (lost.size === 0 || (now < nextSearchAt && now >= searchedAt)) return false
      const given = [...lost]
      const addedBefore = added
      const [row] = await rows.query<{ released: number }>(
        'SELECT inbox.release_claims($1::text[], $2::bigint[]) AS released',
        [textArray(given.map(([{ owner }]) => toStored(owner))), bigintArray(given.map(([{ id }]) => id))],
      )
      const isSoon = given.some(([, until]) => now < until - lateMs + soonMs)
      searchedAt = now
      if (added === addedBefore) nextSearchAt = now + (isSoon ? searchMs.soon : searchMs.later)
      for (const [claim, until] of given) if (now >= until) lost.delete(claim)
      return (row?.released ?? 0) > 0
    },
  }
}
