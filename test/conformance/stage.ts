import { expect, test } from 'vitest'
import { type Clock, type TestClock, createTestClock } from '../../src/base/clock.ts'
import type {
  IncomingDelivery,
  ClaimRequest,
  EventDetail,
  HandlerRoute,
  RunCounts,
  Inbox,
  Lease,
  NewEvent,
  NewQuarantined,
  Outcome,
  RunError,
  RunRecord,
  SettleResult,
} from '../../src/inbox/port.ts'

/** Functions that each store provides to the suite. The suite closes every inbox that it did not crash. */
export interface ConformanceHarness {
  /** A new, empty inbox. */
  open(options: { readonly clock: Clock }): Promise<Inbox>
  /** Opens the data of a closed inbox. */
  reopen(closed: Inbox, options: { readonly clock: Clock }): Promise<Inbox>
  /**
   * Ends a live inbox like `kill -9`, then opens its data. Its leases end like after a reap, and its pending calls may never settle.
   */
  crash(live: Inbox, options: { readonly clock: Clock }): Promise<Inbox>
  /** Pauses large actions before each of their steps. `step` allows the next one and resolves after it. Ends with a crash. */
  gate?(live: Inbox): Promise<{ step(): Promise<void> }>
  /** True if the inbox uses its own clock, which tests can't set back. */
  readonly hasOwnClock?: boolean
  /** True if the size includes deleted data for some time. */
  readonly freesLater?: boolean
  /** Number of random walks. */
  readonly walks: number
}

/** Takes every type, in order per key. */
export const ordered: HandlerRoute = { name: 'ordered', types: ['*'], order: 'key' }
/** Takes every type, without order. */
export const loose: HandlerRoute = { name: 'loose', types: ['*'], order: 'none' }

export const boom: RunError = { name: 'Error', message: 'boom', stack: 'Error: boom\n    at handler.ts:1:1' }

export const noRuns = { waiting: 0, ready: 0, suspect: 0, running: 0, held: 0, dead: 0 }

/** PostgreSQL can't store U+0000, and its adapter escapes it with U+0001. */
export const odd = 'a\0b\u0001c \u{1f600}'

const startOfTests = Date.UTC(2026, 0, 1)

/** An event with its own bytes. `given` replaces fields. Its key is its network and address, or else its id. */
export function anEvent(id: string, given: Partial<Omit<NewEvent, 'kind' | 'id'>> = {}): NewEvent {
  const { network, address } = given
  return {
    kind: 'event',
    id,
    type: 'wallet.large_trade',
    createdAt: '2026-01-01T00:00:00Z',
    key: network && address ? `${network}:${address}` : id,
    network: null,
    address: null,
    raw: bytes(JSON.stringify({ id })),
    receivedAt: startOfTests,
    secretLabel: 'main',
    ...given,
  }
}

export function aQuarantined(name: string, given: Partial<Omit<NewQuarantined, 'kind'>> = {}): NewQuarantined {
  return {
    kind: 'quarantined',
    id: `sha256:${name}`,
    reason: 'not_json',
    raw: bytes(name),
    receivedAt: startOfTests,
    secretLabel: 'main',
    ...given,
  }
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

export function hex(raw: Uint8Array): string {
  return Buffer.from(raw).toString('hex')
}

export function idsOf(leases: readonly Lease[]): string[] {
  return leases.map((lease) => lease.event.id)
}

/** An inbox on a test clock, with shortcuts for frequent calls. */
export class Stage implements AsyncDisposable {
  readonly clock: TestClock
  inbox: Inbox
  readonly #harness: ConformanceHarness

  private constructor(harness: ConformanceHarness, clock: TestClock, inbox: Inbox) {
    this.#harness = harness
    this.clock = clock
    this.inbox = inbox
  }

  static async open(harness: ConformanceHarness, routes: readonly HandlerRoute[] = [ordered]): Promise<Stage> {
    const clock = createTestClock(startOfTests)
    const inbox = await harness.open({ clock })
    await inbox.register(routes)
    return new Stage(harness, clock, inbox)
  }

  /** Closes the inbox and opens its data again. */
  async reopen(routes: readonly HandlerRoute[] = [ordered]): Promise<void> {
    await this.inbox.close()
    this.inbox = await this.#harness.reopen(this.inbox, { clock: this.clock })
    await this.inbox.register(routes)
  }

  async crash(routes: readonly HandlerRoute[] = [ordered]): Promise<void> {
    this.inbox = await this.#harness.crash(this.inbox, { clock: this.clock })
    await this.inbox.register(routes)
  }

  /** Returns a function that waits for one step of a large action. Without a gate, a later call resolves after the step. */
  async gate(): Promise<() => Promise<unknown>> {
    const gate = await this.#harness.gate?.(this.inbox)
    return () => (gate === undefined ? this.done() : gate.step())
  }

  /** Accepts deliveries. Expects all of them to be new. */
  async accept(...deliveries: readonly IncomingDelivery[]): Promise<void> {
    const results = await this.inbox.accept(deliveries)
    expect(results).toEqual(deliveries.map(({ kind }) => (kind === 'event' ? 'accepted' : 'quarantined')))
  }

  claim(given: Partial<ClaimRequest> = {}): Promise<readonly Lease[]> {
    return this.inbox.claim({ handlers: ['ordered'], max: 100, owner: 'worker', suspects: false, ...given })
  }

  /** Claims. Expects exactly one lease. */
  async claimOne(given: Partial<ClaimRequest> = {}): Promise<Lease> {
    const leases = await this.claim({ max: 1, ...given })
    expect(leases).toHaveLength(1)
    return leases[0]!
  }

  done(...leases: readonly Lease[]): Promise<readonly SettleResult[]> {
    return this.inbox.settle(leases.map((lease) => ({ ...this.#attempt(lease), kind: 'done' })))
  }

  retry(lease: Lease, at: number = this.clock.now()): Promise<readonly SettleResult[]> {
    return this.inbox.settle([{ ...this.#attempt(lease), kind: 'retry', at, error: boom }])
  }

  dead(...leases: readonly Lease[]): Promise<readonly SettleResult[]> {
    return this.inbox.settle(leases.map((lease) => ({ ...this.#attempt(lease), kind: 'dead', error: boom })))
  }

  settle(lease: Lease, kind: Outcome['kind'], at: number): Promise<readonly SettleResult[]> {
    switch (kind) {
      case 'retry':
        return this.retry(lease, at)
      case 'dead':
        return this.dead(lease)
      case 'snooze':
        return this.inbox.settle([{ ...this.#attempt(lease), kind, at }])
      case 'done':
      case 'expired':
      case 'unmatched':
        return this.inbox.settle([{ ...this.#attempt(lease), kind }])
    }
  }

  release(...leases: readonly Lease[]): Promise<void> {
    return this.inbox.release(leases.map(({ runId, token }) => ({ runId, token })))
  }

  /** Makes dead letters of all claimable runs, one after the other. */
  async killReady(given: Partial<ClaimRequest> = {}): Promise<void> {
    for (const lease of await this.claim(given)) expect(await this.dead(lease)).toEqual(['applied'])
  }

  /** Claims a run and reaps its owner, several times. The run is no suspect at first. */
  async crashRun(times: number): Promise<void> {
    for (let n = 0; n < times; n += 1) {
      const owner = `victim ${n}`
      await this.claimOne({ owner, suspects: n > 0 })
      expect(await this.inbox.reap(owner)).toMatchObject({ runs: 1 })
    }
  }

  /** True if a claim is pending after later calls have resolved. */
  async isWaiting(claim: Promise<unknown>): Promise<boolean> {
    const later = async () => {
      const unknown = { runId: 2 ** 40, token: 2 ** 40, startedAt: 0, endedAt: 0, kind: 'done' } as const
      for (let round = 0; round < 2; round += 1) await this.inbox.settle([unknown])
      await this.inbox.stats()
      return true
    }
    return Promise.race([claim.then(() => false), later()])
  }

  /** Advances the clock in steps of 20 ms, at most 10 s, until the condition is met. For jobs that continue by a timer. */
  async until(isMet: () => Promise<boolean>): Promise<void> {
    for (let n = 0; n < 500; n += 1) {
      if (await isMet()) return
      await this.clock.advance(20)
    }
    throw new Error('the condition was not met within 10 s of the test clock')
  }

  async detail(id: string): Promise<EventDetail> {
    const detail = await this.inbox.event(id)
    expect(detail, `event ${id}`).not.toBeNull()
    return detail!
  }

  async run(id: string, handler = 'ordered'): Promise<RunRecord> {
    const { runs } = await this.detail(id)
    const run = runs.find((candidate) => candidate.handler === handler)
    expect(run, `run of ${id} for ${handler}`).toBeDefined()
    return run!
  }

  async states(...ids: readonly string[]): Promise<string[]> {
    const runs = await Promise.all(ids.map((id) => this.run(id)))
    return runs.map(({ state }) => state)
  }

  async stats(handler = 'ordered'): Promise<RunCounts> {
    const { handlers } = await this.inbox.stats()
    const { waiting, ready, suspect, running, held, dead } = handlers.find((row) => row.handler === handler) ?? noRuns
    return { waiting, ready, suspect, running, held, dead }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.inbox.close()
  }

  #attempt({ runId, token }: Lease) {
    return { runId, token, startedAt: this.clock.now() - 5, endedAt: this.clock.now() }
  }
}

/** `test` with a new stage for each test, on which `ordered` is registered. */
export const stageTest = (harness: ConformanceHarness) =>
  test.extend<{ stage: Stage }>({
    // oxlint-disable-next-line no-empty-pattern -- Vitest requires a destructured first parameter.
    stage: async ({}, use) => {
      await using stage = await Stage.open(harness)
      await use(stage)
    },
  })
