import { defineHandler } from '../../dispatch/define.ts'
import { RetryableError, TerminalError } from '../../base/errors.ts'

const retryMs = 1_000
/** By event count: both kinds of failure occur within the first ten events. */
const retried = { first: 5, every: 20 }
const terminal = { first: 9, every: 40 }

const isTurn = (number: number, { first, every }: typeof retried) => number >= first && (number - first) % every === 0

let received = 0
/** Ids of events that failed on purpose once. A requeued dead letter succeeds. */
const failed = new Set<string>()

/** Demo only: fails on some events once and on a few for good, to show retries and dead letters. */
export default defineHandler({
  name: 'unlucky',
  type: '*',
  run(event, ctx) {
    if (failed.delete(event.id)) {
      process.stdout.write(`          ↳ unlucky handled ${event.id} this time\n`)
      return
    }
    if (ctx.attempt > 1) return
    received++
    const isRetried = isTurn(received, retried)
    if (!isRetried && !isTurn(received, terminal)) return
    failed.add(event.id)
    if (isRetried) throw new RetryableError('on purpose', { retryAfterMs: retryMs })
    throw new TerminalError('gave up on purpose')
  },
  retry: () => retryMs,
})
