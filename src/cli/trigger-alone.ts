import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { EventType, KnownEvent } from '../../schema/index.ts'
import { systemClock } from '../clock.ts'
import { toTarget } from '../emulator/deliveries/target.ts'
import { createLoneEvents } from '../emulator/lone-events.ts'
import type { PlainEvent } from '../emulator/overriding.ts'
import { createPoster, type PostResult } from '../emulator/post.ts'
import { serialize } from '../emulator/serialize.ts'
import { InboxError } from '../errors.ts'
import { safeText } from '../log.ts'
import { isLoopbackUrl } from '../loopback.ts'
import { sign } from '../signature/sign.ts'
import { printResult } from './output.ts'
import { readSecretArgument } from './secret-argument.ts'
import type { TriggerOptions } from './trigger.ts'

/** As many as the service sends to an endpoint at once (A44). */
const mostAtOnce = 10
const longestShown = 120

/**
 * Triggers events in a small world of its own, and posts each once to a receiver, signed. Exit code 0 = all are acknowledged.
 *
 * @throws InboxError `usage`, `receiver_unreachable` if nothing answers, `bad_request` if the world cannot follow
 */
export async function triggerAlone(
  type: EventType,
  options: TriggerOptions & { readonly url: string },
): Promise<0 | 1> {
  const { url, secret: argument, seed = 'demo', count, set = {} } = options
  const target = toTarget(url)
  if (target.protocol === 'http:' && !isLoopbackUrl(url)) {
    throw new InboxError('usage', '--url: http goes to this machine only; expected https for any other')
  }
  if (argument === undefined)
    throw new InboxError('usage', '--url and --secret go together: where events go, and what signs them')
  const secret = await readSecretArgument(argument, { url })
  const nextEvent = createLoneEvents({ seed, clock: systemClock, randomBytes })
  const poster = createPoster(systemClock)
  const isRaw = Object.keys(set).length > 0
  const counts = { acknowledged: 0, failed: 0, unanswered: 0 }

  async function postOne(): Promise<void> {
    const event = nextEvent(type, set)
    const body = serialize(event as unknown as KnownEvent)
    const result = await poster.post(target, body, {
      'Content-Type': 'application/json',
      'User-Agent': 'onchain-inbox-emulator',
      'X-Service-Signature': sign(body, secret),
    })
    counts[result.isAcknowledged ? 'acknowledged' : result.status === null ? 'unanswered' : 'failed']++
    printPosted(event, isRaw, result, options)
  }

  try {
    await inParallel(
      count,
      options.rate,
      postOne,
      () => counts.acknowledged + counts.failed > 0 || counts.unanswered < mostAtOnce,
    )
  } finally {
    poster.close()
  }
  const { acknowledged, failed, unanswered } = counts
  const unsent = count - acknowledged - failed - unanswered
  printResult({ msg: 'finished', events: count, ...counts, unsent }, options, () => {
    const notSent = unsent === 0 ? '' : `, ${unsent} not sent`
    return `${acknowledged} acknowledged, ${failed} refused, ${unanswered} without an answer${notSent}`
  })
  if (acknowledged + failed === 0) {
    throw new InboxError(
      'receiver_unreachable',
      `nothing answers at ${safeText(url)}: start the receiver, or give its address`,
    )
  }
  return acknowledged === count ? 0 : 1
}

/** Starts work so many times, at a rate if there is one, so many at once at most, for as long as it `mayGoOn`. */
async function inParallel(
  count: number,
  rate: number | undefined,
  work: () => Promise<void>,
  mayGoOn: () => boolean,
): Promise<void> {
  const startedAt = performance.now()
  let begun = 0
  const workOff = async () => {
    while (begun < count && mayGoOn()) {
      const number = begun++
      const dueAt = rate === undefined ? startedAt : startedAt + (number * 1_000) / rate
      await wait(Math.max(0, dueAt - performance.now()))
      await work()
    }
  }
  await Promise.all(Array.from({ length: Math.min(count, mostAtOnce) }, workOff))
}

function printPosted(event: PlainEvent, isRaw: boolean, result: PostResult, options: TriggerOptions): void {
  const { id: eventId, type } = event
  const { isAcknowledged, status, failure, latencyMs, responseExcerpt } = result
  const line = { msg: 'attempt', eventId, type, isRaw, isAcknowledged, status, failure, latencyMs, responseExcerpt }
  printResult(line, options, () => {
    const said = responseExcerpt.trim() === '' ? [] : [safeText(responseExcerpt.trim(), longestShown)]
    const notes = [...(isRaw ? ['raw'] : []), ...(failure !== null && status === null ? [failure] : []), ...said]
    const outcome = isAcknowledged ? 'acknowledged' : 'failed'
    const columns = [
      type.padEnd(27),
      eventId,
      String(status ?? '---'),
      outcome.padEnd(12),
      `${latencyMs} ms`.padStart(7),
    ]
    return [...columns, notes.join(', ')].join('  ').trimEnd()
  })
}
