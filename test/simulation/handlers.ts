import { handlerDefaults } from '../../src/dispatch/define.ts'
import type { RunContext } from '../../src/dispatch/context.ts'
import { SinkBatchRunner } from '../../src/dispatch/sink-run.ts'
import { RetryableError, TerminalError } from '../../src/base/errors.ts'
import type { Visit } from './chronicle.ts'
import type { Life } from './life.ts'
import type { ProcessWorld } from './process.ts'
import { hashOf } from './random.ts'
import { accountOf, itemsOf, retry, roles, sinkName, sinkOptions, type Role } from './roles.ts'
import type { ResolvedHandler } from '../../src/dispatch/resolved-handler.ts'

/** Loads the handlers and the sink for a thread. */
export function loadHandlers(
  names: readonly string[],
  { random, time, faults, chronicle, trace }: ProcessWorld,
  at: { readonly thread: Life; readonly process: Life; readonly suspects: boolean },
): ResolvedHandler[] {
  const { thread, process, suspects } = at
  const live = new Map<string, number>()

  async function act(role: Role, ctx: RunContext, visit: Visit): Promise<void> {
    const { handler, event } = ctx.lease
    const isPoisoned = hashOf(`${handler} poison ${event.id}`) % 100 < (role.poisonedShare ?? 0) * 100
    if (isPoisoned && !faults.isHealed) {
      trace(`${event.id} ends ${thread.name}`)
      thread.end()
      return sleep(1)
    }
    const accountAtEnd = await prepareAccount(ctx)
    await sleep(random.chance(0.5) ? random.integer(0, role.maxMs ?? 15) : 0)
    const mood = faults.isHealed ? 'work' : random.weighted(role.mood)
    // Before a failure, whose effects must be discarded.
    accountAtEnd()
    leaveItems(ctx)
    switch (mood) {
      case 'work':
        break
      case 'fail':
        throw new Error('a random failure')
      case 'createDeadLetters':
        throw new TerminalError('a terminal failure')
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

  /** Reads the log of a key. The returned function writes it: in between, other runs may do the same. */
  async function prepareAccount(ctx: RunContext): Promise<() => void> {
    const place = accountOf(ctx.lease.key)
    const log = (await ctx.state.get<string[]>(place)) ?? []
    return () => ctx.state.set(place, [...log, ctx.lease.event.id])
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

  /** Reports attempts to the chronicle. */
  function watched(run: (ctx: RunContext, visit: Visit) => Promise<void>): ResolvedHandler['run'] {
    return async (ctx) => {
      if (thread.hasEnded) return sleep(1)
      const { handler, event, attempt, token } = ctx.lease
      const visit = chronicle.starts(ctx.lease, thread, suspects)
      trace(
        `${thread.name}: ${handler} begins ${event.id} (run ${ctx.lease.runId}, attempt ${attempt}, token ${token})`,
      )
      const max = roles[handler]?.options.concurrency ?? handlerDefaults.concurrency
      const beside = live.get(handler) ?? 0
      live.set(handler, beside + 1)
      if (handler !== sinkName && beside >= max)
        chronicle.violate(`P9: ${beside + 1} runs of ${handler} run at once, allowed are ${max}`)
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
        live.set(handler, live.get(handler)! - 1)
        visit.endedWell &&= endedWell && !signal.aborted
        if (!thread.hasEnded) trace(`${thread.name}: ${handler} ends ${event.id}${visit.endedWell ? '' : ', not well'}`)
      }
    }
  }

  const batchRunner = new SinkBatchRunner(async (items) => {
    await sleep(random.integer(0, 5))
    if (!faults.isHealed && random.chance(0.05)) throw new Error('the sink is down')
    for (const { id, idempotencyKey } of items) chronicle.delivered(Number(id), idempotencyKey)
    if (faults.point('after an item was delivered', thread, process)) await sleep(1)
    if (!faults.isHealed && random.chance(0.05)) await sleep(random.integer(50, 200))
  }, sinkOptions)

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
      run: (ctx) => watched(() => batchRunner.run(ctx))(ctx),
    },
  ]
}
