import { sign } from '../signature/sign.ts'
import { checkEffects, createEffectsReader } from './effects.ts'
import { createEventSource } from './events.ts'
import { messageOf } from '../errors.ts'
import { notChecked, type ScenarioContext } from './port.ts'
import type { ConformanceOptions } from './run.ts'
import { createSender } from './sender.ts'
import { judgeEffects } from './settle.ts'
import { runShell } from './shell.ts'
import { untilReached, untilThere } from './target.ts'

export interface Stage extends Disposable {
  readonly context: ScenarioContext
  /**
   * Reads once what the receiver did, so that a slip is found before anything is sent.
   *
   * @throws InboxError `usage` if that cannot be read
   */
  checkEffects(): Promise<void>
  /** What came last if no connection can be made for as long as an answer may take, or none that is kept; null if one can. */
  untilReached(): Promise<string | null>
  /** What came last if the receiver does not answer any more; null if it does, be it late. */
  untilThere(): Promise<string | null>
}

const restartLimitMs = 60_000
/** An answer that takes this many times the limit does not come any more. */
const patience = 4
const defaults = { timeoutMs: 5_000, settleMs: 30_000, many: 1_000, signatureHeader: 'X-Service-Signature' }

/** What scenarios work with. Disposing of it cuts every connection. */
export function createStage(options: ConformanceOptions, signal: AbortSignal): Stage {
  const { url, secret, nextSecret, clock, isInsecure = false, effects, restart } = options
  const { timeoutMs, settleMs: limitMs, many, signatureHeader } = { ...defaults, ...options }
  const run = `${clock.now().toString(36)}${Math.floor(clock.random() * 36 ** 4).toString(36)}`
  const { prefix, ...events } = createEventSource(run, clock.now())
  const sender = createSender({ url, signatureHeader, isInsecure, timeoutMs, clock })
  const read = effects === undefined ? undefined : createEffectsReader({ source: effects, isInsecure, clock, signal })
  const wait = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve))
  const deliver: ScenarioContext['deliver'] = ({ body }, { secret: key = secret, ...request } = {}) =>
    sender.send({ ...request, body, signature: sign(body, key) })
  const asking = { deliver, newEvent: events.newEvent, wait, clock, signal }
  const thereWithin = (ms: number) => untilThere({ ...asking, limitMs: ms, patienceMs: patience * timeoutMs })

  const context: ScenarioContext = {
    ...events,
    clock,
    secret,
    nextSecret,
    timeoutMs,
    many,
    wait,
    deliver,
    send: (request) => sender.send(request),
    isThere: async () => (await thereWithin(timeoutMs)) === null,
    async effects(expected) {
      if (read === undefined) return notChecked(reasons.effects)
      return judgeEffects(expected, { read, clock, wait, limitMs, prefix })
    },
    async restart() {
      if (restart === undefined) return reasons.restart
      try {
        await runShell(restart, { clock, limitMs: restartLimitMs, signal, isRead: false })
      } catch (error) {
        return messageOf(error)
      }
      return thereWithin(restartLimitMs)
    },
  }
  return {
    context,
    async checkEffects() {
      if (read !== undefined) await checkEffects(read)
    },
    untilReached: () => untilReached({ ...asking, limitMs: timeoutMs, patienceMs: timeoutMs }),
    untilThere: () => thereWithin(timeoutMs),
    [Symbol.dispose]: () => sender.close(),
  }
}

/** Why a check is left out that needs more than the URL. */
export const reasons = {
  effects: 'without --effects nobody tells what the receiver did',
  restart: 'without --restart it is not known how the receiver is restarted',
  nextSecret: 'without --next-secret there is one secret alone',
} as const
