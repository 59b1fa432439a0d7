import type { Clock, Timer } from '../../base/clock.ts'
import { InboxError, messageOf } from '../../base/errors.ts'
import type { ClaimRequest, Lease, ReapResult } from '../port.ts'
import { classifyFailure, toStoreError } from './failure.ts'
import type { SqliteStore } from './store.ts'
import type { WaitingClaim } from './leases.ts'

interface Work {
  readonly run: () => unknown
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
  /**
   * How long work that can wait is held back for the next transaction of work that cannot, while such comes often. Default 0:
   * not at all.
   */
  readonly lingerMs?: number
  /** Longest sleep until a due run before the clock is read again, because it can be set. Default 5,000. */
  readonly clockCheckMs?: number
  /** Called when health changes. */
  readonly onHealth?: (health: WriterHealth) => void
  /** Called once: nothing can be committed any more. */
  readonly onFailure?: (error: InboxError) => void
  /** Called after each commit, before its callers are answered. They are not if it returns an error, and nothing is from then on. */
  readonly onCommit?: () => InboxError | null
}

/** Work that cannot wait comes often if the last of it came less than this ago. */
const oftenMs = 10
const busyRetryMs = 20
/** Nobody waits for an answer that long; what is refused then is sent again. */
const busyLimitMs = 5_000
const probeMs = 1_000

/**
 * Group commit. All work that gathered while the last commit ran goes into the next transaction: one fsync for all of it.
 * Claims wait here until something can be claimed.
 */
export class Writer {
  readonly #options: WriterOptions
  #queue: Work[] = []
  #claims: ClaimInWaiting[] = []
  #newClaims = false
  #scheduled = false
  #linger: Timer | undefined
  #lastUrgentAt = -Infinity
  #dueTimer: Timer | undefined
  #dueAt: number | null = null
  #probeTimer: Timer | undefined
  #busySince: number | undefined
  #health: WriterHealth = { ok: true, reason: '' }
  #stopped: InboxError | undefined
  readonly #retired = new Set<string>()

  constructor(options: WriterOptions) {
    this.#options = options
  }

  get health(): WriterHealth {
    return this.#health
  }

  /**
   * Runs `work` in the next transaction; resolves after its durable commit. What `canWait` a moment rides along with what
   * cannot, which saves an fsync of its own.
   */
  run<T>(work: (store: SqliteStore) => T, canWait = false): Promise<T> {
    if (this.#stopped) return Promise.reject(this.#stopped)
    return new Promise<T>((resolve, reject) => {
      this.#queue.push({
        run: () => work(this.#options.store),
        resolve: resolve as (value: unknown) => void,
        reject,
      })
      if (!canWait || !this.#lingers()) this.#schedule(!canWait)
    })
  }

  /** Reads what is committed. Throws once nothing can be committed any more. */
  read<T>(work: (store: SqliteStore) => T): T {
    if (this.#stopped) throw this.#stopped
    return work(this.#options.store)
  }

  claim(request: ClaimRequest): Promise<readonly Lease[]> {
    if (this.#stopped || this.#retired.has(request.owner) || request.max < 1) return Promise.resolve([])
    return new Promise((resolve) => {
      this.#claims.push({ ...request, leases: [], bytes: 0, resolve })
      if (!this.#options.store.hasClaimable()) return // The transaction that creates work serves it.
      this.#newClaims = true
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

  /** Commits what is queued, then refuses everything. Waiting claims resolve empty. */
  async close(): Promise<void> {
    if (this.#stopped) return
    this.#endClaims(() => true)
    await this.run(() => {}).catch(() => {})
    this.#stop(new InboxError('shutting_down', 'the inbox is closed'))
  }

  #stop(error: InboxError): void {
    this.#stopped ??= error
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
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => this.#flush())
  }

  /** Whether a transaction is near that others wait for; if it does not come, one is made after `lingerMs`. */
  #lingers(): boolean {
    const { clock, lingerMs = 0 } = this.#options
    if (this.#scheduled || this.#linger !== undefined) return true
    if (lingerMs === 0 || clock.now() - this.#lastUrgentAt > oftenMs) return false
    this.#linger = clock.after(lingerMs, () => this.#schedule(false))
    return true
  }

  #flush(): void {
    this.#scheduled = false
    this.#linger?.cancel()
    this.#linger = undefined
    if (this.#stopped) return
    const batch = this.#queue
    this.#queue = []
    const { store } = this.#options
    const claims = this.#claims
    try {
      const results = store.transact(claims, () => {
        if (this.#newClaims) for (const claim of claims) store.wake(claim)
        return batch.map((work) => work.run())
      })
      this.#newClaims = false
      this.#committed(batch, results)
    } catch (error) {
      this.#failed(batch, error)
    }
    try {
      if (!this.#stopped) this.#armDueTimer()
    } catch (error) {
      this.#failed([], error)
    }
  }

  #committed(batch: readonly Work[], results: readonly unknown[]): void {
    const lost = this.#options.onCommit?.() ?? null
    if (lost !== null) return this.#fail(batch, lost)
    this.#busySince = undefined
    this.#setHealth({ ok: true, reason: '' })
    batch.forEach((work, index) => work.resolve(results[index]))
    if (this.#claims.some((claim) => claim.leases.length > 0)) {
      const served = this.#claims.filter((claim) => claim.leases.length > 0)
      this.#claims = this.#claims.filter((claim) => claim.leases.length === 0)
      for (const claim of served) claim.resolve(claim.leases)
    }
  }

  /** Nothing of the batch was committed, or, if the failure is fatal, nobody knows. */
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
        const refused = toStoreError(failure, error)
        this.#setHealth({ ok: false, reason: refused.message })
        for (const work of batch) work.reject(refused)
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
    this.#scheduled = true
    clock.after(busyRetryMs, () => this.#flush())
  }

  /**
   * A piece of work that throws hurts only itself: each of the batch is tried again by itself. If there was none, it is the
   * handing out of runs that throws, and would again: a new process may do better.
   */
  #runOneByOne(batch: readonly Work[], error: unknown): void {
    if (batch.length === 0) {
      this.#fail([], new InboxError('store_unavailable', `runs cannot be handed out: ${messageOf(error)}`))
      return
    }
    for (const [index, work] of batch.entries()) {
      if (this.#stopped) {
        work.reject(this.#stopped)
        continue
      }
      try {
        const result = this.#options.store.transact([], work.run)
        const lost = this.#options.onCommit?.() ?? null
        if (lost === null) work.resolve(result)
        else this.#fail([work], lost)
      } catch (thrown) {
        const failure = classifyFailure(thrown)
        if (failure === 'bug')
          work.reject(thrown instanceof Error ? thrown : new InboxError('internal', messageOf(thrown)))
        else this.#failed(failure === 'busy' ? batch.slice(index) : [work], thrown)
        if (failure === 'busy') break
      }
    }
    if (this.#claims.length > 0) {
      this.#newClaims = true
      this.#schedule(false)
    }
  }

  /** Learns, without traffic, that the database can be written again. */
  #probe(): void {
    if (this.#health.ok || this.#stopped) return
    this.run((store) => store.probe()).catch(() => {})
  }

  #setHealth(health: WriterHealth): void {
    if (health.ok === this.#health.ok && health.reason === this.#health.reason) return
    this.#health = health
    this.#options.onHealth?.(health)
  }

  /** One timer, for the earliest retry that a waiting claim could take. While nothing can be written, the probe takes its place. */
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
      this.#newClaims = true
      this.#schedule(false)
    })
  }
}
