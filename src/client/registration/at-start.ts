import type { Clock, Timer } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { SubscriptionPort } from '../../inbox/port.ts'
import { safeText, type Logger } from '../../base/log.ts'
import { describeRegistration, withoutQuery } from './describe.ts'
import { register, type Registration, type Wanted, type WebhookClient } from './register.ts'

export interface RegistrationOptions {
  readonly inbox: SubscriptionPort
  /** A client for one call: what an earlier one was told to wait is no time of the next. */
  readonly client: () => WebhookClient
  readonly wanted: Wanted
  /** The secret of that label as it is now; undefined if there is none any more. */
  readonly secret: () => string | undefined
  readonly clock: Clock
  readonly log: Logger
}

/** Registers the receiver of this process, without holding anything up and without ending it. */
export interface ReceiverRegistration {
  /** To be called once deliveries are taken. */
  start(): void
  /** Waits for a call that is under way, at most so long: without its answer nobody would know how it ended. Idempotent. */
  close(graceMs: number): Promise<void>
}

const firstWaitMs = 10_000
const maxWaitMs = 600_000

/**
 * What is certain not to be registered, since the service could not be reached or had no room, is tried again: after 10 s, then ever
 * later up to 10 min, and not before the service says. All else is said in the log, with what to do, and left to people.
 */
export function createReceiverRegistration(options: RegistrationOptions): ReceiverRegistration {
  const { inbox, client, wanted, clock, log } = options
  const now = () => clock.now()
  let waitMs = firstWaitMs
  let timer: Timer | undefined
  let running: Promise<void> | undefined
  let isClosed = false

  function again(ms: number): void {
    if (!isClosed) timer = clock.after(ms, run)
  }

  /** Draws so that replicas that were refused together do not come together again; not before `askedMs`, which may be nothing. */
  function backOff(askedMs = 0): void {
    again(Math.max(waitMs * (0.5 + clock.random() / 2), askedMs))
    waitMs = Math.min(waitMs * 2, maxWaitMs)
  }

  function run(): void {
    running = attempt().finally(() => (running = undefined))
  }

  async function attempt(): Promise<void> {
    const secret = options.secret()
    if (secret === undefined) {
      log.error(
        { secretLabel: wanted.secretLabel },
        'not registered with the service: there is no secret of this label',
      )
      return
    }
    try {
      const result = await register({ inbox, client: client(), wanted, secret, now })
      report(result, wanted, log)
      if (result.kind === 'under_way') again(Math.max(result.clearAt - now(), 0) + 1)
      if (result.kind === 'refused' && result.verdict.canRetry) backOff(result.verdict.retryAfterMs ?? 0)
    } catch (error) {
      log.error(
        { error: safeText(messageOf(error)) },
        'not registered with the service: the inbox cannot note it; it is tried again',
      )
      backOff()
    }
  }

  return {
    start: run,
    async close(graceMs) {
      isClosed = true
      timer?.cancel()
      if (running === undefined) return
      let limit: Timer | undefined
      const late = new Promise<void>((resolve) => (limit = clock.after(graceMs, resolve)))
      await Promise.race([running, late])
      limit?.cancel()
    },
  }
}

const messages = {
  registered: ['info', 'registered with the service'],
  unnoted: ['error', 'registered with the service, but the inbox could not note it'],
  unchanged: ['info', 'registered with the service already'],
  changed: ['warn', 'registered with the service for something else than the settings say'],
  under_way: ['info', 'another process registers this receiver with the service'],
  unclear: ['warn', 'it is not known whether this receiver is registered with the service'],
  refused: ['error', 'not registered with the service'],
  planned: ['info', 'would be registered with the service'],
} as const satisfies Record<Registration['kind'], readonly ['info' | 'warn' | 'error', string]>

/** One line, without anything secret: of the answer only what we kept, of addresses no query. */
function report(result: Registration, wanted: Wanted, log: Logger): void {
  const [level, message] = messages[result.kind]
  const { summary, todo } = describeRegistration(withoutQueries(result), withoutQuery(wanted))
  const madeSecret = 'madeSecret' in result && result.madeSecret !== null
  const verdict = 'verdict' in result ? result.verdict : null
  log[level](
    {
      what: safeText(summary, 2_000),
      ...(todo !== null && { todo: safeText(todo, 1_000) }),
      ...(verdict && { status: verdict.status, requestId: verdict.requestId, isTriedAgain: verdict.canRetry }),
    },
    message,
  )
  if (madeSecret)
    log.error({ todo: takeOver }, 'the service made a secret of its own, which is neither shown nor kept here')
}

const takeOver =
  'deliveries may be signed with it: set the secret of the webhook to yours in the dashboard of the service, or remove the webhook ' +
  'there and run `onchain-inbox subscribe --force`, which shows it'

function withoutQueries(result: Registration): Registration {
  if (!('subscription' in result)) return result
  return { ...result, subscription: withoutQuery(result.subscription) }
}
