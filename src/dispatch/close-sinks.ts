import type { Clock } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Logger } from '../base/log.ts'
import type { ResolvedHandler } from './resolved-handler.ts'

/** Lets sinks close what they hold open, for `limitMs` at most. Never throws: what cannot be closed ends with the process. */
export async function closeSinks(
  handlers: readonly Pick<ResolvedHandler, 'name' | 'close'>[],
  { clock, log, limitMs }: { readonly clock: Clock; readonly log: Logger; readonly limitMs: number },
): Promise<void> {
  const late = Promise.withResolvers<void>()
  const timer = clock.after(limitMs, late.resolve)
  const closed = handlers.map(async ({ name, close }) => {
    try {
      await close?.()
    } catch (error) {
      log.warn({ handler: name, error: messageOf(error) }, 'a sink could not be closed')
    }
  })
  await Promise.race([Promise.all(closed), late.promise])
  timer.cancel()
}
