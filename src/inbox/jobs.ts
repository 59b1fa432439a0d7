import type { Clock, Timer } from '../base/clock.ts'
import { TokenBucket } from '../base/token-bucket.ts'

/** Result of one step of a replay or a backfill. */
export interface StepResult {
  readonly created: number
  /** `more`: call again. `waits`: call again later, when open runs have ended or new events were stored. `ended`: the job is done. */
  readonly next: 'more' | 'waits' | 'ended'
}

/** A replay or a backfill in progress. */
export interface Job {
  readonly name: string
  /** Maximum runs created per second; null: no limit. */
  readonly perSecond: number | null
  /** Creates up to `max` runs in one transaction. */
  readonly step: (max: number) => Promise<StepResult>
}

/** Open runs of a replay or a backfill. Large counts may be cut off. */
export interface OpenBacklog {
  /** Runs that have not ended, without dead letters. Exact up to `maxBlockedRuns`. */
  readonly open: number
  /** Open runs that don't wait behind another run of their key. Exact up to `minReadyRuns`. */
  readonly ready: number
}

/** A job with this many open runs creates no more. */
export const maxOpenRuns = 1_000
/** Limit instead of `maxOpenRuns` while fewer than `minReadyRuns` are ready: a slow or blocked key must not starve other keys. */
export const maxBlockedRuns = 10_000
export const minReadyRuns = 20

/** How many runs a step may create, at most `max`. */
export function roomFor(max: number, { open, ready }: OpenBacklog): number {
  if (open < maxOpenRuns) return Math.min(max, maxOpenRuns - open)
  return ready < minReadyRuns && open < maxBlockedRuns ? max : 0
}

/** Maximum runs created in one transaction. Acknowledgements wait for it, so it is small. */
const maxPerStep = 200
/** Pause of a job that waits. Doubles up to `maxWaitMs` while it makes no progress. */
const waitMs = 20
const maxWaitMs = 250
const failedWaitMs = 1_000

/** Drives replays and backfills, one small transaction after the other. */
export class Jobs {
  readonly #jobs: () => readonly Job[]
  readonly #clock: Clock
  readonly #buckets = new Map<string, TokenBucket>()
  readonly #waitsMs = new Map<string, number>()
  readonly #onError: (job: string, error: unknown) => void
  /** Jobs whose failure was reported. */
  readonly #failing = new Set<string>()
  #isWorking = false
  #isPoked = false
  #isStopped = false
  #timer: Timer | undefined

  /** `onError` is called once per failing job, and again only after the job has recovered. */
  constructor(jobs: () => readonly Job[], clock: Clock, onError: (job: string, error: unknown) => void = () => {}) {
    this.#jobs = jobs
    this.#clock = clock
    this.#onError = onError
  }

  /** Call when there may be work. */
  poke(): void {
    this.#isPoked = true
    if (this.#isWorking || this.#isStopped) return
    this.#timer?.cancel()
    this.#isWorking = true
    void this.#work()
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  async #work(): Promise<void> {
    let delayMs: number | null = 0
    while (delayMs === 0 && !this.#isStopped) {
      this.#isPoked = false
      delayMs = await this.#guard('replays', () => this.#round())
      if (this.#isPoked) delayMs = 0
    }
    this.#isWorking = false
    if (delayMs !== null && !this.#isStopped) this.#timer = this.#clock.after(delayMs, () => this.poke())
  }

  /** Does one step of each job. Returns how long to wait until the next one; null if no job is left. */
  async #round(): Promise<number | null> {
    let delayMs: number | null = null
    for (const job of this.#jobs()) {
      const ms = await this.#guard(job.name, () => this.#step(job))
      if (ms !== null) delayMs = Math.min(delayMs ?? Infinity, ms)
    }
    return delayMs
  }

  /** Returns how long to wait after the job. A failing job doesn't stop the others. */
  async #guard(job: string, work: () => Promise<number | null>): Promise<number | null> {
    try {
      const delayMs = await work()
      this.#failing.delete(job)
      return delayMs
    } catch (error) {
      if (!this.#failing.has(job) && !this.#isStopped) this.#onError(job, error)
      this.#failing.add(job)
      return failedWaitMs
    }
  }

  /** How long to wait until the next step of a job; null if it ended. */
  #waitAfter(job: string, next: StepResult['next']): number | null {
    const previousWaitMs = this.#waitsMs.get(job) ?? waitMs / 2
    this.#waitsMs.delete(job)
    if (next === 'ended') return null
    if (next === 'more') return 0
    const nextWaitMs = Math.min(2 * previousWaitMs, maxWaitMs)
    this.#waitsMs.set(job, nextWaitMs)
    return nextWaitMs
  }

  async #step({ name, perSecond, step }: Job): Promise<number | null> {
    const bucket = perSecond === null ? undefined : this.#bucketOf(name, perSecond)
    const max = Math.min(maxPerStep, bucket?.available() ?? Infinity)
    if (max < 1) return bucket?.waitMs() ?? waitMs
    const { created, next } = await step(max)
    bucket?.spend(created)
    if (next === 'ended') this.#buckets.delete(name)
    const nextWaitMs = this.#waitAfter(name, next)
    return nextWaitMs === 0 ? (bucket?.waitMs() ?? 0) : nextWaitMs
  }

  #bucketOf(job: string, perSecond: number): TokenBucket {
    const existing = this.#buckets.get(job)
    if (existing !== undefined) return existing
    const bucket = new TokenBucket(perSecond, this.#clock)
    this.#buckets.set(job, bucket)
    return bucket
  }
}
