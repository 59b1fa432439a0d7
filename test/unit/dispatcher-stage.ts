import { createTestClock } from '../../src/base/clock.ts'
import { InFlightRuns } from '../../src/dispatch/blockage.ts'
import type { RunContext } from '../../src/dispatch/context.ts'
import { handlerDefaults, type HandlerEvent } from '../../src/dispatch/define.ts'
import { Dispatcher, type DispatcherOptions } from '../../src/dispatch/dispatcher.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import type { RunRecord, DispatchStore } from '../../src/inbox/port.ts'
import { silentLogger, type Logger } from '../../src/base/log.ts'
import { anEvent } from '../conformance/stage.ts'
import { eventBytes } from '../support/signed.ts'
import type { ResolvedHandler } from '../../src/dispatch/resolved-handler.ts'

export interface TestHandler extends Partial<Omit<ResolvedHandler, 'run'>> {
  readonly run: (event: HandlerEvent<'*'>, ctx: RunContext) => void | Promise<void>
}

interface TestEvent {
  readonly id: string
  readonly address?: string
  /** Text that makes the body large. */
  readonly padding?: string
}

export interface StageOptions {
  readonly handlers: readonly TestHandler[]
  readonly concurrency?: number
  readonly suspects?: boolean
  readonly overrunGraceMs?: number
  /** Overrides methods of the inbox. */
  readonly work?: (inbox: DispatchStore) => Partial<DispatchStore>
}

/** A dispatcher with a memory inbox on a test clock. Default names of handlers: h1, h2 … */
export async function stageDispatcher(options: StageOptions) {
  const clock = createTestClock()
  const inbox = await createMemoryInbox({ clock })
  const handlers = options.handlers.map((handler, index): ResolvedHandler => {
    const name = `h${index + 1}`
    const run = (ctx: RunContext) => handler.run(ctx.event, ctx)
    return { ...handlerDefaults, kind: 'handler', name, types: ['*'], file: `${name}.ts`, ...handler, run }
  })
  await inbox.register(handlers)
  const { concurrency = 100, suspects = false, overrunGraceMs = 5_000 } = options
  const inFlight = new InFlightRuns([], concurrency)
  const settled: string[] = []
  const stuck: string[] = []
  const observer: DispatcherOptions['observer'] = {
    starting: (attempt, runId, { name }) => inFlight.starting(attempt, runId, name),
    yielded: () => inFlight.yielded(),
    ended: (attempt) => inFlight.ended(attempt),
    settled: (handler, kind) => settled.push(`${handler} ${kind}`),
    stuck: (handler) => stuck.push(handler),
  }
  const lines: object[] = []
  const write = (fields: object, message: string) => void lines.push({ ...fields, message })
  const log = Object.assign(Object.create(silentLogger) as Logger, { warn: write, error: write })
  const work = { ...inbox, ...options.work?.(inbox) }
  const common = { work, handlers, concurrency, clock, log, observer, overrunGraceMs }
  const dispatcher = new Dispatcher({ ...common, owner: 'owner-1', suspects })

  /** Runs pending promise callbacks and timers that are due now. */
  async function turns(count = 20): Promise<void> {
    for (let n = 0; n < count; n++) await clock.advance(0)
  }

  return {
    clock,
    inbox,
    dispatcher,
    inFlight,
    settled,
    stuck,
    /** Warnings and errors of the log. */
    lines,
    turns,
    /** Advances the clock from timer to timer. */
    async pass(ms: number): Promise<void> {
      const until = clock.now() + ms
      await turns()
      for (let at = clock.nextTimerAt(); at !== null && at <= until; at = clock.nextTimerAt()) {
        await clock.advance(at - clock.now())
        await turns()
      }
      await clock.advance(until - clock.now())
    },
    /** Accepts new events; those with the same address share a key. */
    async accept(...events: readonly TestEvent[]): Promise<void> {
      await inbox.accept(
        events.map(({ id, address, padding }) => ({
          ...anEvent(id, address === undefined ? {} : { network: 'ethereum', address }),
          raw: eventBytes({ id, ...(padding !== undefined && { data: { padding } }) }),
        })),
      )
      await turns()
    },
    /** Ends runs of the gates until `count` outcomes are settled in all. */
    async drain(count: number, ...gates: readonly ReturnType<typeof gatedHandler>[]): Promise<void> {
      await this.until(() => {
        for (const { running } of gates) for (const end of running.values()) end.resolve()
        return settled.length === count
      })
    },
    /** Waits for a condition without advancing the clock. */
    async until(isSo: () => boolean | Promise<boolean>): Promise<void> {
      for (let n = 0; n < 2_000; n++) {
        if (await isSo()) return
        await clock.advance(0)
      }
      throw new Error('the condition was never met')
    },
    async run(id: string, handler = 'h1'): Promise<RunRecord> {
      const run = (await inbox.event(id))?.runs.find((candidate) => candidate.handler === handler)
      if (run === undefined) throw new Error(`there is no run of ${id} for ${handler}`)
      return run
    },
  }
}

/** Claims return only after the gate. */
export function claimingAfter(gate: Promise<void>): NonNullable<StageOptions['work']> {
  return (inbox) => ({
    async claim(request) {
      const leases = await inbox.claim(request)
      await gate
      return leases
    },
  })
}

/** A started dispatcher that has accepted `evt_1`. */
export async function stageRun(...handlers: readonly TestHandler[]) {
  const stage = await stageDispatcher({ handlers })
  stage.dispatcher.start()
  await stage.accept({ id: 'evt_1' })
  return stage
}

/** A handler whose runs end on request, and that counts concurrent runs. */
export function gatedHandler() {
  const running = new Map<string, PromiseWithResolvers<void>>()
  const started: string[] = []
  const gate = {
    running,
    started,
    most: 0,
    run: async (event: { readonly id: string }): Promise<void> => {
      const end = Promise.withResolvers<void>()
      running.set(event.id, end)
      started.push(event.id)
      gate.most = Math.max(gate.most, running.size)
      try {
        await end.promise
      } finally {
        running.delete(event.id)
      }
    },
  }
  return gate
}

export function numbered(count: number): { id: string }[] {
  return Array.from({ length: count }, (_, index) => ({ id: `evt_${index + 1}` }))
}
