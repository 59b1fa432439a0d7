import { createHash } from 'node:crypto'
import { ApiError, type CallOptions } from '../index.ts'
import { isInDoubt, successIn } from '../errors.ts'
import { InboxError, messageOf } from '../../base/errors.ts'
import type { Subscription, SubscriptionPort } from '../../inbox/port.ts'

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
const maxTries = 5

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
    if (tries === maxTries) throw new Error(`registrations came and went ${tries} times`)
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
      const answer = keepAnswer(error instanceof ApiError ? error.body : undefined, secret).text
      const result = { state: 'failed', answer } as const
      await inbox.endSubscription(begun.id, result)
      return { kind: 'refused', subscription: { ...begun, ...result }, verdict }
    }
  }
  const { text, secret: madeSecret } = keepAnswer(body, secret)
  const result = { state: 'registered', answer: text } as const
  const registered = { subscription: { ...begun, ...result }, webhookId: webhookIdOf(text), madeSecret }
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

const untrusted = 'certificate_untrusted'

/** Reads an error of the client. `secret` is kept out of the reason. */
function verdictOf(thrown: unknown, secret: string): Verdict {
  const reason = messageOf(thrown).replaceAll(secret, '(the secret)')
  if (!(thrown instanceof ApiError)) {
    // Arguments or a key that can't be sent are refused here.
    const isRefused = thrown instanceof InboxError
    return { isRefused, canRetry: false, retryAfterMs: null, status: null, requestId: null, reason }
  }
  const { status, requestId, retryAfterMs, code } = thrown
  const isRefused = !isInDoubt(thrown)
  const canRetry = isRefused && code !== untrusted && (status === null || status === 429)
  return { isRefused, canRetry, retryAfterMs, status, requestId, reason }
}

/**
 * The JSON of a success in a form that the client doesn't know: the service documents no answer to this POST, so its `data` may be
 * anything (R8, A8). Undefined for everything else.
 */
function acceptanceIn(thrown: unknown): unknown {
  if (!(thrown instanceof ApiError) || thrown.status === null) return undefined
  const { status, body } = thrown
  return status >= 200 && status < 300 && successIn(body) === true ? body : undefined
}

const maxKeptLength = 65_536
const hidden = '(not kept)'
const secretName = /secret|token|password|api_?key/i

/**
 * What to keep of an answer: JSON without anything secret, at most 64 KiB, or null without a body. Members whose names say that they
 * are secret are hidden, and so is `given` wherever it stands. `secret`: one that the service made.
 */
function keepAnswer(body: unknown, given: string): { readonly text: string | null; readonly secret: string | null } {
  let secret: string | null = null
  const text = JSON.stringify(body, (name, value: unknown) => {
    if (value === null || typeof value === 'boolean') return value
    if (!secretName.test(name)) return typeof value === 'string' ? value.replaceAll(given, hidden) : value
    if (name === 'secret' && typeof value === 'string' && value !== '' && value !== given) secret ??= value
    return hidden
  }) as string | undefined
  return { text: text === undefined ? null : text.slice(0, maxKeptLength), secret }
}

/** The id that the service gave to the webhook, where it stands where ours does (A8). `answer`: as it was kept. */
export function webhookIdOf(answer: string | null): string | null {
  try {
    const { data } = JSON.parse(answer ?? '') as { readonly data: Readonly<Record<string, unknown>> }
    const id = data['webhook_id'] ?? data['id']
    return typeof id === 'string' ? id : null
  } catch {
    // There is none, it has another form, or it was too long to be kept whole.
    return null
  }
}
