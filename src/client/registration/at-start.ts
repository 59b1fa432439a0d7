import type { Clock, Timer } from '../../base/clock.ts'
import { messageOf } from '../../base/errors.ts'
import type { SubscriptionPort } from '../../inbox/port.ts'
import { safeText, type Logger } from '../../base/log.ts'
import { describeRegistration, withoutQuery } from './describe.ts'
import { register, type Registration, type Wanted, type WebhookClient } from './register.ts'

export interface RegistrationOptions {
  readonly inbox: SubscriptionPort
  /** Creates a client for one call: a pause that the upstream asked of an earlier one must not delay the next. */
  readonly client: () => WebhookClient
  readonly wanted: Wanted
  /** The current secret with the wanted label; undefined if there is none. */
  readonly secret: () => string | undefined
  readonly clock: Clock
  readonly log: Logger
}

const firstWaitMs = 10_000
const maxWaitMs = 600_000

/**
 * Registers the receiver of this process in the background. Retries only if nothing was registered for certain, because the
 * upstream was unreachable or limits the rate: after 10 s, then with doubled waits up to 10 min, and not before the upstream
 * allows it. Everything else is logged with advice.
 */
export function createReceiverRegistration(options: RegistrationOptions) {
  const { inbox, client, wanted, clock, log } = options
  const now = () => clock.now()
  let waitMs = firstWaitMs
  let timer: Timer | undefined
  let running: Promise<void> | undefined
  let isClosed = false

  function schedule(ms: number): void {
    if (!isClosed) timer = clock.after(ms, run)
  }

  /** Waits a random time, so that replicas that failed together spread out; at least `askedMs`. */
  function backOff(askedMs: number | null): void {
    schedule(Math.max(waitMs * (0.5 + clock.random() / 2), askedMs ?? 0))
    waitMs = Math.min(waitMs * 2, maxWaitMs)
  }

  function run(): void {
    running = attempt().finally(() => (running = undefined))
  }

  async function attempt(): Promise<void> {
    const secret = options.secret()
    if (secret === undefined) {
      log.error({ secretLabel: wanted.secretLabel }, 'registration secret missing')
      return
    }
    try {
      const result = await register({ inbox, client: client(), wanted, secret, now })
      report(result, wanted, log)
      if (result.kind === 'in_flight') schedule(Math.max(result.clearAt - now(), 0) + 1)
      if (result.kind === 'refused' && result.verdict.canRetry) backOff(result.verdict.retryAfterMs)
    } catch (error) {
      log.error({ error: safeText(messageOf(error)) }, 'registration not storable, retrying')
      backOff(null)
    }
  }

  return {
    /** Call once deliveries are accepted. */
    start: run,
    /** Waits up to `graceMs` for a call in flight: without its response the outcome would be unknown. Idempotent. */
    async close(graceMs: number): Promise<void> {
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
  registered: ['info', 'receiver registered'],
  unstored: ['error', 'receiver registered, not recorded'],
  unchanged: ['info', 'receiver already registered'],
  changed: ['warn', 'registration differs from settings'],
  in_flight: ['info', 'another process is registering'],
  unclear: ['warn', 'registration outcome unknown'],
  refused: ['error', 'registration failed'],
  planned: ['info', 'registration planned'],
} as const satisfies Record<Registration['kind'], readonly ['info' | 'warn' | 'error', string]>

/** Logs no secrets: neither queries of URLs nor the response of the upstream. */
function report(result: Registration, wanted: Wanted, log: Logger): void {
  const [level, message] = messages[result.kind]
  const shown = 'subscription' in result ? { ...result, subscription: withoutQuery(result.subscription) } : result
  const { summary, todo } = describeRegistration(shown, withoutQuery(wanted))
  const verdict = 'verdict' in result ? result.verdict : null
  log[level](
    {
      result: safeText(summary, 2_000),
      ...(todo !== null && { todo: safeText(todo, 1_000) }),
      ...(verdict && { status: verdict.status, requestId: verdict.requestId, isRetried: verdict.canRetry }),
    },
    message,
  )
  if ('madeSecret' in result && result.madeSecret !== null)
    log.error({ todo: useOwnSecret }, 'service generated a secret')
}

const useOwnSecret =
  'the service may sign deliveries with its own secret, which is neither shown nor stored here: set the secret of the webhook to yours ' +
  'in the dashboard of the service, or delete the webhook there and run `onchain-inbox subscribe --force`, which shows the secret'
