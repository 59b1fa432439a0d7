import { defineHandler } from '../../dispatch/define.ts'
import { RetryableError, TerminalError } from '../../base/errors.ts'

const retryMs = 1_000
/** By the number of the event among those it was given: so the first of each come within a tour of ten. */
const failing = { first: 5, every: 20 }
const givenUp = { first: 9, every: 40 }

const isTurn = (number: number, { first, every }: typeof failing) => number >= first && (number - first) % every === 0

let given = 0
/** Events that were failed once on purpose; a requeued dead letter is handled. */
const failed = new Set<string>()

/** For the demo alone: fails on some events at first, and gives up on a few, so that it can be watched what becomes of them. */
export default defineHandler({
  name: 'unlucky',
  type: '*',
  run(event, ctx) {
    if (failed.delete(event.id)) {
      process.stdout.write(`          ↳ unlucky handled ${event.id} this time\n`)
      return
    }
    if (ctx.attempt > 1) return
    given++
    const isFailing = isTurn(given, failing)
    if (!isFailing && !isTurn(given, givenUp)) return
    failed.add(event.id)
    if (isFailing) throw new RetryableError('on purpose', { retryAfterMs: retryMs })
    throw new TerminalError('gave up on purpose')
  },
  retry: () => retryMs,
})
