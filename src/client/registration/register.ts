import { createHash } from 'node:crypto'
import type { CallOptions } from '../index.ts'
import { InboxError, messageOf } from '../../base/errors.ts'
import type { Subscription, SubscriptionPort } from '../../inbox/port.ts'
import { keepAnswer, webhookIdOf } from './answer.ts'

/** What of the client is needed. It repeats no POST that may have been done. Types may be new ones, which it does not know. */
export interface WebhookClient {
  createWebhook(
    webhook: { readonly url: string; readonly events: readonly string[]; readonly secret?: string | undefined },
    options?: CallOptions,
  ): Promise<{ readonly body: unknown }>
}

export interface RegisterOptions {
  readonly inbox: SubscriptionPort
  readonly client: WebhookClient
  readonly wanted: Wanted
  /** The secret itself. */
  readonly secret: string
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Registers even if something is registered already, or may be. */
  readonly force?: boolean
  /** Only says what would be done. */
  readonly dryRun?: boolean
}

/**
 * `registered` now, `madeSecret` is one that the service made in place of ours · `unnoted`: the same, but the inbox could not be
 * told · `unchanged`: that already · `changed`: registered for something else · `under_way`: somebody else is at it · `unclear`:
 * begun, and how it ended is not known · `refused`: it is certain that nothing was registered · `planned`: a dry run.
 */
export type Registration =
  | {
      readonly kind: 'registered' | 'unnoted'
      readonly subscription: Subscription
      readonly webhookId: string | null
      readonly madeSecret: string | null
      readonly noteError?: string
    }
  | { readonly kind: 'unchanged'; readonly subscription: Subscription }
  | { readonly kind: 'changed'; readonly subscription: Subscription }
  | { readonly kind: 'under_way'; readonly subscription: Subscription; readonly clearAt: number }
  | { readonly kind: 'unclear'; readonly subscription: Subscription; readonly verdict: Verdict | null }
  | { readonly kind: 'refused'; readonly subscription: Subscription; readonly verdict: Verdict }
  | { readonly kind: 'planned'; readonly replaces: Subscription | null }

/** Longer than a call takes: what was begun before that has been left behind. */
export const underWayMs = 60_000
const callTimeoutMs = 30_000
const mostTries = 5

/**
 * Registers the receiver with the service once (R60, R62): a second registration means two deliveries of each event, and no page of
 * the service shows a list of what is registered. So it is noted in the inbox before the service is asked, by one of all who try; and what was
 * begun and has no known end is never tried again by itself.
 *
 * @throws InboxError of the inbox, where it could not note that it begins, or that nothing was registered
 */
export async function register(options: RegisterOptions): Promise<Registration> {
  const { inbox, wanted, now, dryRun = false } = options
  const digest = digestOf(wanted)
  let force = options.force ?? false
  for (let tries = 1; ; tries += 1) {
    const newest = await inbox.subscription()
    const standing = newest && standingOf(newest, digest, force, now())
    if (standing !== null) return standing
    if (dryRun) return { kind: 'planned', replaces: newest }
    const { url, events, secretLabel } = wanted
    const begun = await inbox.beginSubscription(
      { digest, url, events, secretLabel, at: now() },
      newest === null ? null : newest.id,
    )
    if (begun !== null) return call(options, begun)
    // Somebody else was first: what he does is not to be done over.
    force = false
    if (tries === mostTries) throw new Error(`registrations came and went ${tries} times meanwhile`)
  }
}

/**
 * Says of one that was begun that it is there: somebody has looked. Gives it, or null if there is none. One that may still be under
 * way is left alone: its end would not be heeded any more.
 */
export async function confirmRegistered(
  inbox: SubscriptionPort,
  now: () => number,
): Promise<Subscription | UnderWay | null> {
  const begun = await inbox.subscription()
  if (begun !== null && isUnderWay(begun, now())) return underWay(begun)
  if (begun?.state === 'begun') await inbox.endSubscription(begun.id, { state: 'registered', answer: null })
  const newest = await inbox.subscription()
  return newest?.state === 'registered' ? newest : null
}

/** Null where it may be gone on. */
function standingOf(newest: Subscription, digest: string, force: boolean, now: number): Registration | null {
  if (isUnderWay(newest, now)) return underWay(newest)
  if (force) return null
  if (newest.state === 'begun') return { kind: 'unclear', subscription: newest, verdict: null }
  return { kind: newest.digest === digest ? 'unchanged' : 'changed', subscription: newest }
}

type UnderWay = Extract<Registration, { kind: 'under_way' }>

function isUnderWay({ state, at }: Subscription, now: number): boolean {
  return state === 'begun' && Math.abs(now - at) < underWayMs
}

function underWay(subscription: Subscription): UnderWay {
  return { kind: 'under_way', subscription, clearAt: subscription.at + underWayMs }
}

async function call(options: RegisterOptions, begun: Subscription): Promise<Registration> {
  const { inbox, client, secret } = options
  const { url, events } = begun
  let body: unknown
  try {
    ;({ body } = await client.createWebhook({ url, events, secret }, { timeoutMs: callTimeoutMs }))
  } catch (error) {
    body = acceptanceIn(error)
    if (body === undefined) {
      const verdict = verdictOf(error, secret)
      if (!verdict.isRefused) return { kind: 'unclear', subscription: begun, verdict }
      const answer = keepAnswer((error as { readonly body?: unknown }).body, secret).text
      const result = { state: 'failed', answer } as const
      await inbox.endSubscription(begun.id, result)
      return { kind: 'refused', subscription: { ...begun, ...result }, verdict }
    }
  }
  const { text, secret: madeSecret } = keepAnswer(body, secret)
  const result = { state: 'registered', answer: text } as const
  const registered = { subscription: { ...begun, ...result }, webhookId: webhookIdOf(body), madeSecret }
  try {
    await inbox.endSubscription(begun.id, result)
  } catch (error) {
    return { kind: 'unnoted', ...registered, noteError: messageOf(error) }
  }
  return { kind: 'registered', ...registered }
}

/** What the receiver is to be registered for. */
export interface Wanted {
  readonly url: string
  /** Types by name, or `*` alone. */
  readonly events: readonly string[]
  readonly secretLabel: string
}

/** The same for the same url, events in whatever order, and label of the secret. Hex of SHA-256. */
export function digestOf({ url, events, secretLabel }: Wanted): string {
  return createHash('sha256')
    .update(JSON.stringify([url, events.toSorted(), secretLabel]))
    .digest('hex')
}

/** What became of a POST that did not succeed. */
export interface Verdict {
  /** Whether it is certain that nothing was registered. */
  readonly isRefused: boolean
  /** Whether the same may succeed later, with nobody's help. */
  readonly canRetry: boolean
  /** How long the service asks to wait. */
  readonly retryAfterMs: number | null
  readonly status: number | null
  readonly requestId: string | null
  readonly reason: string
}

/** The client's own. */
const untrusted = 'certificate_untrusted'

/** With these no connection came about, so nothing was sent. */
const neverSent: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ENETUNREACH',
  'EHOSTUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  untrusted,
  // Waited for its turn until it gave up.
  'rate_limited',
])

const mostCauses = 10

/**
 * Reads an error of the client. Refused is what the service answered with a status of 4xx, with 501, or with a failure in its
 * envelope, and what was never sent. All else may have been done: a 5xx, no answer, an answer that is none. `secret` is kept out of
 * the reason.
 */
function verdictOf(thrown: unknown, secret: string): Verdict {
  const reason = messageOf(thrown).replaceAll(secret, '(the secret)')
  // Arguments or a key that cannot be sent.
  if (thrown instanceof InboxError) return { ...nothingCame, isRefused: true, canRetry: false, reason }
  const { status = null, requestId = null, retryAfterMs = null, body, code } = fieldsOf(thrown)
  const wasSent = !causesOf(thrown).some((cause) => neverSent.has(cause.code))
  const isRefused = status === null ? !wasSent : status < 300 ? saysFailure(body) : saysNo(status)
  const canRetry = isRefused && code !== untrusted && (status === null || status === 429)
  return { isRefused, canRetry, retryAfterMs, status, requestId, reason }
}

const nothingCame = { retryAfterMs: null, status: null, requestId: null } as const

interface ErrorFields {
  readonly status?: number | null
  readonly requestId?: string | null
  readonly retryAfterMs?: number | null
  readonly body?: unknown
  readonly code?: unknown
}

function fieldsOf(thrown: unknown): ErrorFields {
  return typeof thrown === 'object' && thrown !== null ? thrown : {}
}

/** The error, what caused it, and so on. */
function causesOf(thrown: unknown): readonly ErrorFields[] {
  const causes: ErrorFields[] = []
  for (let at = thrown; at instanceof Error && causes.length < mostCauses; at = at.cause) {
    causes.push(fieldsOf(at))
    if (at instanceof AggregateError) causes.push(...at.errors.map(fieldsOf))
  }
  return causes
}

/** Redirects aside: where they lead to, something may have been done. */
function saysNo(status: number): boolean {
  return (status >= 400 && status < 500) || status === 501
}

function saysFailure(body: unknown): boolean {
  return successIn(body) === false
}

function successIn(body: unknown): unknown {
  return typeof body === 'object' && body !== null && 'success' in body ? body.success : undefined
}

/**
 * The JSON of an answer of success that has not the form that the client knows: the service shows no answer to this POST, so its
 * `data` may be anything (R8, A8). Undefined for all else.
 */
function acceptanceIn(thrown: unknown): unknown {
  const { status = null, body } = fieldsOf(thrown)
  return status !== null && status >= 200 && status < 300 && successIn(body) === true ? body : undefined
}
