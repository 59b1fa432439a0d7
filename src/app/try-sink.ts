import { setTimeout as wait } from 'node:timers/promises'
import type { SinkTry } from '../admin/route.ts'
import { InboxError } from '../base/errors.ts'
import type { Runner } from '../dispatch/runner.ts'
import { openRunsOf, type Inbox } from '../inbox/port.ts'

const attemptMs = 5_000
const pollMs = 50

export interface TrySinkOptions {
  readonly inbox: Pick<Inbox, 'stats' | 'note'>
  readonly runner: Pick<Runner, 'handlers' | 'openBreakers' | 'send'>
}

/** Sends one item of a sink whose breaker is open in this process. Throws `not_found` for a name that is not a loaded sink. */
export function createTrySink({ inbox, runner }: TrySinkOptions) {
  async function tryHere(handler: string): Promise<SinkTry> {
    const before = runner.openBreakers.get(handler)
    if (before?.reason !== 'breaker') return { result: 'closed', error: null }
    const row = (await inbox.stats()).handlers.find((stats) => stats.handler === handler)
    if (row === undefined || openRunsOf(row) + row.running === 0) return { result: 'idle', error: null }
    runner.send({ kind: 'try', handler })
    for (const end = performance.now() + attemptMs; performance.now() < end;) {
      await wait(pollMs)
      const now = runner.openBreakers.get(handler)
      if (now?.reason !== 'breaker') return { result: 'sent', error: null }
      if (now.failures > before.failures) return { result: 'failed', error: now.error }
    }
    return { result: 'unanswered', error: null }
  }

  return async (handler: string, by?: string): Promise<SinkTry> => {
    if (!runner.handlers.some(({ name, kind }) => name === handler && kind === 'sink'))
      throw new InboxError('not_found', `there is no loaded sink ${JSON.stringify(handler)}`)
    const result = await tryHere(handler)
    await inbox.note('handler.try', { handler, ...result }, by)
    return result
  }
}
