import { handlerDefaults, type ResolvedHandler } from '../../src/dispatch/define.ts'
import type { RunContext } from '../../src/dispatch/context.ts'
import { createSinkRun } from '../../src/dispatch/sink-run.ts'
import { RetryableError, TerminalError } from '../../src/errors.ts'
import type { Life } from './life.ts'
import { hashOf, type Random } from './random.ts'
import type { Chronicle, Visit } from './chronicle.ts'
import type { Faults } from './faults.ts'
import type { VirtualTime } from './time.ts'

type Options = Partial<Omit<ResolvedHandler, 'run' | 'kind' | 'name' | 'file'>>

/** What runs may do beside their work, by weight. */
interface Mood {
  readonly work: number
  readonly fail?: number
  readonly giveUp?: number
  readonly askForTime?: number
  readonly snooze?: number
  /** Goes on past its timeout: heeding the signal, or not for a while. */
  readonly oversleep?: number
  readonly hang?: number
}

interface Role {
  readonly options: Options
  readonly mood: Mood
  /** How it keeps account of what it has done. */
  readonly account: 'log' | 'numbers'
  readonly leavesItems: boolean
  /** How long its work takes at most; default 15. */
  readonly mostMs?: number
  /** By themselves they end their thread, with so many of the events. */
  readonly poisonedShare?: number
}

const retry = { attempts: 3, baseMs: 20, capMs: 300 }

/** The handlers there are. A simulation has some of them. */
export const roles: { readonly [name: string]: Role } = {
  counter: {
    options: { concurrency: 4 },
    mood: { work: 20, fail: 1 },
    account: 'log',
    leavesItems: true,
  },
  holding: {
    options: { onDead: 'hold', types: ['wallet.*'] },
    mood: { work: 10, giveUp: 4, fail: 1 },
    account: 'log',
    leavesItems: true,
  },
  // All of its runs change one value, and the store is slow compared with them.
  hot: {
    options: { order: 'none', concurrency: 4 },
    mood: { work: 1 },
    account: 'log',
    leavesItems: false,
    mostMs: 4,
  },
  latest: {
    options: { latestOnly: true },
    mood: { work: 8, fail: 1, snooze: 1 },
    account: 'log',
    leavesItems: false,
  },
  loose: {
    options: { order: 'none', concurrency: 4 },
    mood: { work: 10, fail: 1, snooze: 1 },
    account: 'log',
    leavesItems: true,
  },
  moody: {
    options: { concurrency: 2, priority: 1 },
    mood: { work: 6, fail: 2, giveUp: 1, askForTime: 1, snooze: 1 },
    account: 'log',
    leavesItems: false,
  },
  numbering: {
    options: { order: 'none', concurrency: 3 },
    mood: { work: 10, fail: 1 },
    account: 'numbers',
    leavesItems: false,
  },
  picky: {
    options: { maxAgeMs: 3_600_000, match: (event) => hashOf(event.id) % 3 !== 0, rate: 100 },
    mood: { work: 8, fail: 1 },
    account: 'log',
    leavesItems: false,
  },
  poisoned: {
    options: { types: ['token.*', 'wallet.*'] },
    mood: { work: 1 },
    account: 'log',
    leavesItems: false,
    poisonedShare: 0.1,
  },
  slow: {
    options: { timeoutMs: 60, concurrency: 2 },
    mood: { work: 6, oversleep: 2, hang: 1 },
    account: 'log',
    leavesItems: true,
  },
}

/** Where the items go; not a handler of events. */
export const sinkName = 'audit'

const sinkOptions = { retry, concurrency: 4, timeoutMs: 100 }

/** How many items a run leaves when it is done. */
export function itemsOf(handler: string, eventId: string): number {
  return roles[handler]?.leavesItems ? hashOf(`${handler} ${eventId}`) % 3 : 0
}

/** The key of the state under which a run keeps account. */
export function accountOf(handler: string, key: string | null): string {
  return roles[handler]?.account === 'numbers' ? numbersPrefix : key === null ? 'log:' : `log:${key}`
}

export const numbersPrefix = 'number:'

export interface HandlerWorld {
  readonly random: Random
  readonly time: VirtualTime
  readonly faults: Faults
  readonly chronicle: Chronicle
  readonly trace: (text: string) => void
}

/** The handlers and the sink as a new thread loads them. */
export function loadHandlers(
  names: readonly string[],
  world: HandlerWorld,
  at: { readonly thread: Life; readonly process: Life; readonly suspects: boolean },
): ResolvedHandler[] {
  const { random, time, faults, chronicle, trace } = world
  const { thread, process, suspects } = at

  async function act(role: Role, ctx: RunContext, visit: Visit): Promise<void> {
    const { handler, event } = ctx.lease
    const isPoisoned = hashOf(`${handler} poison ${event.id}`) % 100 < (role.poisonedShare ?? 0) * 100
    if (isPoisoned && !faults.isHealed) {
      trace(`${event.id} ends ${thread.name}`)
      thread.end()
      return sleep(1)
    }
    const accountAtEnd = await prepareAccount(role, ctx)
    await sleep(random.chance(0.5) ? random.integer(0, role.mostMs ?? 15) : 0)
    const mood = faults.isHealed ? 'work' : random.weighted({ ...role.mood } as globalThis.Record<keyof Mood, number>)
    // Before it fails, so that effects would be seen.
    accountAtEnd()
    leaveItems(ctx)
    switch (mood) {
      case 'work':
        break
      case 'fail':
        throw new Error('it fails now and then')
      case 'giveUp':
        throw new TerminalError('it gives up')
      case 'askForTime':
        throw new RetryableError('later', { retryAfterMs: random.integer(0, 200) })
      case 'snooze':
        visit.endedWell = false
        ctx.snooze(random.integer(0, 200))
        return
      case 'oversleep':
        await untilAborted(ctx.signal)
        break
      case 'hang':
        await sleep(random.integer(60, 400))
        break
    }
    if (faults.point('in a handler', thread, process)) await sleep(1)
  }

  /** Reads, and gives what is to be done after a while: between them other runs may do the same. */
  async function prepareAccount({ account }: Role, ctx: RunContext): Promise<() => void> {
    const { handler, event, key } = ctx.lease
    const place = accountOf(handler, key)
    if (account === 'numbers') {
      const taken = await ctx.state.list(place, { limit: 1_000 })
      return () => ctx.state.set(`${place}${String(taken.length).padStart(4, '0')}`, event.id)
    }
    const log = (await ctx.state.get<string[]>(place)) ?? []
    return () => ctx.state.set(place, [...log, event.id])
  }

  function leaveItems(ctx: RunContext): void {
    const { handler, event, runId, token } = ctx.lease
    for (let count = itemsOf(handler, event.id); count > 0; count -= 1) ctx.enqueue(sinkName, { runId, token })
  }

  function sleep(ms: number): Promise<void> {
    return ms === 0 && !thread.hasEnded ? Promise.resolve() : time.sleep(thread, ms)
  }

  function untilAborted(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) resolve()
      else signal.addEventListener('abort', () => resolve(), { once: true })
    })
  }

  /** Lets the chronicle know of an attempt. */
  function watched(run: (ctx: RunContext, visit: Visit) => Promise<void>): ResolvedHandler['run'] {
    return async (_, ctx) => {
      if (thread.hasEnded) return sleep(1)
      const { handler, event, attempt, token } = ctx.lease
      const visit = chronicle.starts(ctx.lease, thread, suspects)
      trace(
        `${thread.name}: ${handler} begins ${event.id} (run ${ctx.lease.runId}, attempt ${attempt}, token ${token})`,
      )
      let endedWell = true
      const { signal } = ctx
      try {
        visit.endedWell = true
        await run(ctx, visit)
      } catch (error) {
        endedWell = false
        throw error
      } finally {
        visit.hasEnded = true
        visit.endedWell &&= endedWell && !signal.aborted
        if (!thread.hasEnded) trace(`${thread.name}: ${handler} ends ${event.id}${visit.endedWell ? '' : ', not well'}`)
      }
    }
  }

  const passOn = createSinkRun(
    async (items) => {
      await sleep(random.integer(0, 5))
      if (!faults.isHealed && random.chance(0.05)) throw new Error('the sink is down')
      for (const { id, idempotencyKey } of items) chronicle.delivered(Number(id), idempotencyKey)
      if (faults.point('after an item was passed on', thread, process)) await sleep(1)
      if (!faults.isHealed && random.chance(0.05)) await sleep(random.integer(50, 200))
    },
    { batch: 3, concurrency: 2 },
  )

  const common = { ...handlerDefaults, types: ['*'], retry, file: 'handlers.ts' }
  return [
    ...names.map((name): ResolvedHandler => {
      const role = roles[name]!
      const run = watched((ctx, visit) => act(role, ctx, visit))
      return { ...common, kind: 'handler', name, ...role.options, run }
    }),
    {
      ...common,
      ...sinkOptions,
      kind: 'sink',
      name: sinkName,
      types: [],
      run: (event, ctx) => watched(() => passOn(event, ctx))(event, ctx),
    },
  ]
}
