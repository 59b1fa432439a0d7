import type { Clock, Timer } from '../../base/clock.ts'
import { InboxError, messageOf } from '../../base/errors.ts'
import type { ClaimRequest, Lease, ReapResult } from '../port.ts'
import { classifyFailure, toStoreError } from './failure.ts'
import type { SqliteStore } from './store.ts'
import type { WaitingClaim } from './leases.ts'

/** A call that waits for its transaction. */
interface Work {
  readonly run: () => unknown
  readonly isUpkeep: boolean
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

interface ClaimInWaiting extends WaitingClaim {
  readonly resolve: (leases: readonly Lease[]) => void
}

export interface WriterHealth {
  readonly ok: boolean
  readonly reason: string
}

export interface WriterOptions {
  readonly store: SqliteStore
  readonly clock: Clock
  /** Milliseconds that work with `canWait` waits for a transaction of urgent work, while urgent work is frequent. Default 0: doesn't wait. */
  readonly lingerMs?: number
  /** Maximum milliseconds before the clock is read again while waiting for a due run, because the clock may be set. Default 5,000. */
  readonly clockCheckMs?: number
  /** Called when health changes. */
  readonly onHealth?: (health: WriterHealth) => void
  /** Called once when nothing can be committed any more. */
  readonly onFailure?: (error: InboxError) => void
  /** Called after each commit, before its callers get their results. If it returns an error, the writer fails permanently. */
  readonly onCommit?: () => InboxError | null
}

/** Urgent work is frequent if the last of it was less than this ago. */
const frequentMs = 10
const busyRetryMs = 20
/** Work is rejected after this time without the lock; the sender delivers again. */
const busyLimitMs = 5_000
const probeMs = 1_000

/**
 * Group commit: all work queued during a commit goes into the next transaction, with one fsync. Claims wait here until a run can be
 * claimed; the transaction that makes it claimable leases it to them.
 *
 * A batch of work is queued, then run in one transaction, which ends in one of these ways (see `Failure`):
 *
 *   committed     each caller gets its result
 *   busy          the batch is queued again, in front, for up to `busyLimitMs`
 *   bug           each work of the batch runs in its own transaction, so that only the work that throws fails
 *   full, failed  the batch is rejected; a probe finds out when commits succeed again
 *   fatal         the batch and all later work are rejected: the process must restart
 */
export class Writer {
  readonly #options: WriterOptions
  #queue: Work[] = []
  #claims: ClaimInWaiting[] = []
  #hasNewClaims = false
  #isScheduled = false
  #linger: Timer | undefined
  #lastUrgentAt = -Infinity
  #dueTimer: Timer | undefined
  #dueAt: number | null = null
  #probeTimer: Timer | undefined
  #busySince: number | undefined
  #health: WriterHealth = { ok: true, reason: '' }
  #stopError: InboxError | undefined
  #revision = 0
  readonly #retired = new Set<string>()

  constructor(options: WriterOptions) {
    this.#options = options
  }

  get health(): WriterHealth {
    return this.#health
  }

  /** Number of commits that may have changed what queries return. */
  get revision(): number {
    return this.#revision
  }

  /**
   * Runs `work` in the next transaction, and resolves after its durable commit. Work with `canWait` shares the transaction of urgent work,
   * which saves an fsync.
   */
  run<T>(work: (store: SqliteStore) => T, canWait = false): Promise<T> {
    return this.#add(work, canWait, false)
  }

  /**
   * Like `run` with `canWait`, for work that is repeated all the time. Its result is null, false or an object with a `total` of 0 if it
   * didn't change what queries return.
   */
  upkeep<T>(work: (store: SqliteStore) => T): Promise<T> {
    return this.#add(work, true, true)
  }

  #add<T>(work: (store: SqliteStore) => T, canWait: boolean, isUpkeep: boolean): Promise<T> {
    if (this.#stopError) return Promise.reject(this.#stopError)
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({
        run: () => work(this.#options.store),
        isUpkeep,
        resolve: resolve as (value: unknown) => void,
        reject,
      })
      if (!canWait || !this.#lingers()) this.#schedule(!canWait)
    })
  }

  /** Reads committed data. Throws once the writer has stopped. */
  read<T>(work: (store: SqliteStore) => T): T {
    if (this.#stopError) throw this.#stopError
    return work(this.#options.store)
  }

  claim(request: ClaimRequest): Promise<readonly Lease[]> {
    if (this.#stopError || this.#retired.has(request.owner) || request.max < 1) return Promise.resolve([])
    return new Promise((resolve) => {
      this.#claims.push({ ...request, leases: [], bytes: 0, resolve })
      if (!this.#options.store.hasClaimable()) return // The transaction that creates work serves it.
      this.#hasNewClaims = true
      if (!this.#lingers()) this.#schedule(false)
    })
  }

  retire(owner: string): void {
    this.#retired.add(owner)
    this.#endClaims((claim) => claim.owner === owner)
  }

  reap(owner: string): Promise<ReapResult> {
    this.retire(owner)
    return this.run((store) => store.reap(owner))
  }

  /** Commits queued work, then rejects all calls. Waiting claims resolve empty. */
  async close(): Promise<void> {
    if (this.#stopError) return
    this.#endClaims(() => true)
    await this.run(() => {}).catch(() => {})
    this.#stop(new InboxError('shutting_down', 'the inbox is closed'))
  }

  #stop(error: InboxError): void {
    this.#stopError ??= error
    this.#linger?.cancel()
    this.#dueTimer?.cancel()
    this.#probeTimer?.cancel()
    this.#endClaims(() => true)
    for (const work of this.#queue.splice(0)) work.reject(error)
  }

  #endClaims(which: (claim: ClaimInWaiting) => boolean): void {
    const [ended, kept] = [this.#claims.filter(which), this.#claims.filter((claim) => !which(claim))]
    this.#claims = kept
    for (const claim of ended) claim.resolve([])
  }

  #schedule(isUrgent: boolean): void {
    if (isUrgent) this.#lastUrgentAt = this.#options.clock.now()
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => this.#flush())
  }

  /** True if an urgent transaction is expected soon. Otherwise one starts after `lingerMs`. */
  #lingers(): boolean {
    const { clock, lingerMs = 0 } = this.#options
    if (this.#isScheduled || this.#linger !== undefined) return true
    if (lingerMs === 0 || clock.now() - this.#lastUrgentAt > frequentMs) return false
    this.#linger = clock.after(lingerMs, () => this.#schedule(false))
    return true
  }

  #flush(): void {
    this.#isScheduled = false
    this.#linger?.cancel()
    this.#linger = undefined
    if (this.#stopError) return
    const batch = this.#queue
    this.#queue = []
    const { store } = this.#options
    const claims = this.#claims
    try {
      const results = store.transact(claims, () => {
        if (this.#hasNewClaims) for (const claim of claims) store.wake(claim)
        return batch.map((work) => work.run())
      })
      this.#hasNewClaims = false
      this.#committed(batch, results)
    } catch (error) {
      this.#failed(batch, error)
    }
    try {
      if (!this.#stopError) this.#armDueTimer()
    } catch (error) {
      this.#failed([], error)
    }
  }

  #committed(batch: readonly Work[], results: readonly unknown[]): void {
    const fileError = this.#options.onCommit?.() ?? null
    if (fileError !== null) return this.#fail(batch, fileError)
    this.#busySince = undefined
    this.#setHealth({ ok: true, reason: '' })
    this.#countRevision(batch, results)
    batch.forEach((work, index) => work.resolve(results[index]))
    if (this.#claims.some((claim) => claim.leases.length > 0)) {
      const served = this.#claims.filter((claim) => claim.leases.length > 0)
      this.#claims = this.#claims.filter((claim) => claim.leases.length === 0)
      for (const claim of served) claim.resolve(claim.leases)
    }
  }

  #countRevision(batch: readonly Work[], results: readonly unknown[]): void {
    const isServed = this.#claims.some(({ leases }) => leases.length > 0)
    const isChange = batch.some(({ isUpkeep }, index) => !isUpkeep || hasChanged(results[index]))
    if (isServed || isChange) this.#revision++
  }

  /** Nothing of the batch was committed. After a fatal failure this is in doubt. */
  #failed(batch: readonly Work[], error: unknown): void {
    const failure = classifyFailure(error)
    switch (failure) {
      case 'busy':
        this.#queue = [...batch, ...this.#queue]
        this.#waitForLock(error)
        return
      case 'bug':
        this.#runOneByOne(batch, error)
        return
      case 'fatal':
        this.#fail(batch, toStoreError(failure, error))
        return
      case 'full':
      case 'failed': {
        const storeError = toStoreError(failure, error)
        this.#setHealth({ ok: false, reason: storeError.message })
        for (const work of batch) work.reject(storeError)
        this.#probeTimer?.cancel()
        this.#probeTimer = this.#options.clock.after(probeMs, () => this.#probe())
      }
    }
  }

  #fail(batch: readonly Work[], fatal: InboxError): void {
    this.#setHealth({ ok: false, reason: fatal.message })
    for (const work of batch) work.reject(fatal)
    this.#stop(fatal)
    this.#options.onFailure?.(fatal)
  }

  #waitForLock(error: unknown): void {
    const { clock } = this.#options
    this.#busySince ??= clock.now()
    if (clock.now() - this.#busySince > probeMs) {
      this.#setHealth({ ok: false, reason: toStoreError('busy', error).message })
    }
    if (clock.now() - this.#busySince > busyLimitMs) {
      for (const work of this.#queue.splice(0)) work.reject(toStoreError('busy', error))
    }
    this.#isScheduled = true
    clock.after(busyRetryMs, () => this.#flush())
  }

  /**
   * Work that throws must not fail other work, so each item of the batch is retried in its own transaction. With an empty batch,
   * leasing runs has thrown and would again: the writer fails, and the process restarts.
   */
  #runOneByOne(batch: readonly Work[], error: unknown): void {
    if (batch.length === 0) {
      this.#fail([], new InboxError('store_unavailable', `leasing runs failed: ${messageOf(error)}`))
      return
    }
    for (const [index, work] of batch.entries()) {
      if (this.#stopError) {
        work.reject(this.#stopError)
        continue
      }
      try {
        const result = this.#options.store.transact([], work.run)
        const fileError = this.#options.onCommit?.() ?? null
        this.#countRevision([work], [result])
        if (fileError === null) work.resolve(result)
        else this.#fail([work], fileError)
      } catch (thrown) {
        const failure = classifyFailure(thrown)
        if (failure === 'bug')
          work.reject(thrown instanceof Error ? thrown : new InboxError('internal', messageOf(thrown)))
        else this.#failed(failure === 'busy' ? batch.slice(index) : [work], thrown)
        if (failure === 'busy') break
      }
    }
    if (this.#claims.length > 0) {
      this.#hasNewClaims = true
      this.#schedule(false)
    }
  }

  /** Finds out without deliveries whether the database can be written again. */
  #probe(): void {
    if (this.#health.ok || this.#stopError) return
    this.run((store) => store.probe()).catch(() => {})
  }

  #setHealth(health: WriterHealth): void {
    if (health.ok === this.#health.ok && health.reason === this.#health.reason) return
    this.#health = health
    this.#options.onHealth?.(health)
  }

  /** One timer, for the earliest due run of all waiting claims. While nothing can be written, the probe replaces it. */
  #armDueTimer(): void {
    const { store } = this.#options
    let dueAt: number | null = null
    for (const claim of this.#health.ok ? this.#claims : []) {
      const at = store.nextDueAt(claim)
      if (at !== null && (dueAt === null || at < dueAt)) dueAt = at
    }
    if (dueAt === this.#dueAt) return
    this.#dueTimer?.cancel()
    this.#dueAt = dueAt
    if (dueAt !== null) this.#awaitDue(dueAt)
  }

  #awaitDue(dueAt: number): void {
    const { store, clock, clockCheckMs = 5_000 } = this.#options
    this.#dueTimer = clock.after(Math.min(dueAt - clock.now(), clockCheckMs), () => {
      if (clock.now() < dueAt && !store.clockWasSetBack()) return this.#awaitDue(dueAt)
      this.#dueAt = null
      this.#hasNewClaims = true
      this.#schedule(false)
    })
  }
}

/** For the results of upkeep. */
function hasChanged(result: unknown): boolean {
  if (typeof result !== 'object' || result === null) return result !== null && result !== false
  return !('total' in result) || result.total !== 0
}
