import { createHash } from 'node:crypto'
import { ApiError, type CallOptions } from '../index.ts'
import { isInDoubt, successIn } from '../errors.ts'
import { InboxError, messageOf } from '../../base/errors.ts'
import type { Subscription, SubscriptionPort } from '../../inbox/port.ts'

/** The part of the client that registration needs. It must not retry a POST that may have been carried out. `events`: any type names. */
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
  /** Text of the secret labelled `wanted.secretLabel`. */
  readonly secret: string
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** True: registers even if a registration exists or may exist. */
  readonly force?: boolean
  /** True: sends and records nothing. */
  readonly dryRun?: boolean
}

/**
 * Outcome of a registration.
 * - `registered`: the upstream created the webhook. `madeSecret`: a secret that it generated instead of using ours, else null.
 * - `unstored`: the upstream created the webhook, but the inbox failed to record it.
 * - `unchanged`: already registered with the same URL, events and secret. `changed`: already registered with others.
 * - `in_flight`: another process began less than a minute ago. `unclear`: a request was sent, and its outcome is unknown.
 * - `refused`: the upstream rejected the request. `planned`: a dry run; `replaces`: the registration that it would replace.
 */
export type Registration =
  | {
      readonly kind: 'registered' | 'unstored'
      readonly subscription: Subscription
      readonly webhookId: string | null
      readonly madeSecret: string | null
      readonly noteError?: string
    }
  | { readonly kind: 'unchanged' | 'changed'; readonly subscription: Subscription }
  | { readonly kind: 'in_flight'; readonly subscription: Subscription; readonly clearAt: number }
  | { readonly kind: 'unclear'; readonly subscription: Subscription; readonly verdict: Verdict | null }
  | { readonly kind: 'refused'; readonly subscription: Subscription; readonly verdict: Verdict }
  | { readonly kind: 'planned'; readonly replaces: Subscription | null }

/** A registration without an outcome is in progress up to this age. It exceeds `callTimeoutMs`, so an older one was abandoned. */
const inFlightMs = 60_000
const callTimeoutMs = 30_000
const maxAttempts = 5

/**
 * Registers the receiver with the upstream once (R60, R62), because two registrations deliver each event twice. Before the
 * request is sent, the inbox records the attempt, and it allows only one process at a time. An attempt with an unknown
 * outcome is never repeated automatically.
 *
 * @throws InboxError if the inbox can't record the attempt or its rejection
 */
export async function register(options: RegisterOptions): Promise<Registration> {
  const { inbox, wanted, now, dryRun = false } = options
  const digest = digestOf(wanted)
  let force = options.force ?? false
  for (let attempts = 1; ; attempts += 1) {
    const newest = await inbox.subscription()
    const determined = newest && determinedOutcome(newest, digest, force, now())
    if (determined !== null) return determined
    if (dryRun) return { kind: 'planned', replaces: newest }
    const { url, events, secretLabel } = wanted
    const begun = await inbox.beginSubscription(
      { digest, url, events, secretLabel, at: now() },
      newest === null ? null : newest.id,
    )
    if (begun !== null) return call(options, begun)
    // Another process was faster. Check its registration instead of replacing it.
    force = false
    if (attempts === maxAttempts) throw new Error(`other processes changed the registration ${attempts} times`)
  }
}

/**
 * Records that an attempt with an unknown outcome succeeded, after an operator has checked it. Returns the registration; null if there is
 * none. Changes nothing while an attempt may be in progress, because that attempt records its own outcome.
 */
export async function confirmRegistered(
  inbox: SubscriptionPort,
  now: () => number,
): Promise<Subscription | InFlight | null> {
  const begun = await inbox.subscription()
  const pending = begun && inFlight(begun, now())
  if (pending !== null) return pending
  if (begun?.state === 'begun') await inbox.endSubscription(begun.id, { state: 'registered', answer: null })
  const newest = await inbox.subscription()
  return newest?.state === 'registered' ? newest : null
}

/** Outcome that the newest registration determines without a request; null if a request may be sent. */
function determinedOutcome(newest: Subscription, digest: string, force: boolean, now: number): Registration | null {
  const pending = inFlight(newest, now)
  if (pending !== null || force) return pending
  if (newest.state === 'begun') return { kind: 'unclear', subscription: newest, verdict: null }
  return { kind: newest.digest === digest ? 'unchanged' : 'changed', subscription: newest }
}

type InFlight = Extract<Registration, { kind: 'in_flight' }>

/** Null if no process may be working on the registration. */
function inFlight(subscription: Subscription, now: number): InFlight | null {
  const isPending = subscription.state === 'begun' && Math.abs(now - subscription.at) < inFlightMs
  return isPending ? { kind: 'in_flight', subscription, clearAt: subscription.at + inFlightMs } : null
}

async function call(options: RegisterOptions, begun: Subscription): Promise<Registration> {
  const { inbox, client, secret } = options
  const { url, events } = begun
  let body: unknown
  try {
    ;({ body } = await client.createWebhook({ url, events, secret }, { timeoutMs: callTimeoutMs }))
  } catch (error) {
    body = acceptanceIn(error)
    if (body === undefined) return fail(options, begun, error)
  }
  const { text, secret: madeSecret } = redactResponse(body, secret)
  const result = { state: 'registered', answer: text } as const
  const registered = { subscription: { ...begun, ...result }, webhookId: webhookIdOf(text), madeSecret }
  try {
    await inbox.endSubscription(begun.id, result)
  } catch (error) {
    return { kind: 'unstored', ...registered, noteError: messageOf(error) }
  }
  return { kind: 'registered', ...registered }
}

async function fail({ inbox, secret }: RegisterOptions, begun: Subscription, error: unknown): Promise<Registration> {
  const response = error instanceof ApiError ? error : null
  // The client rejects arguments and keys that can't be sent.
  const isRejected = response === null ? error instanceof InboxError : !isInDoubt(response)
  const verdict: Verdict = {
    canRetry: isRejected && response !== null && isTemporary(response),
    retryAfterMs: response?.retryAfterMs ?? null,
    status: response?.status ?? null,
    requestId: response?.requestId ?? null,
    reason: messageOf(error).replaceAll(secret, '(the secret)'),
  }
  if (!isRejected) return { kind: 'unclear', subscription: begun, verdict }
  const result = { state: 'failed', answer: redactResponse(response?.body, secret).text } as const
  await inbox.endSubscription(begun.id, result)
  return { kind: 'refused', subscription: { ...begun, ...result }, verdict }
}

/** The wanted registration. */
export interface Wanted {
  readonly url: string
  /** Names of types, or only `*`. */
  readonly events: readonly string[]
  readonly secretLabel: string
}

/** SHA-256 in hex of the URL, the events in any order, and the label of the secret. */
export function digestOf({ url, events, secretLabel }: Wanted): string {
  return createHash('sha256')
    .update(JSON.stringify([url, events.toSorted(), secretLabel]))
    .digest('hex')
}

/** No connection, or above the rate limit. */
const isTemporary = ({ status, code }: ApiError): boolean =>
  status === 429 || (status === null && code !== 'certificate_untrusted')

/** Outcome of a POST that did not succeed. */
export interface Verdict {
  /** True if the same request may succeed later, without an operator. */
  readonly canRetry: boolean
  /** Wait that the upstream asks for, in milliseconds; null: none. */
  readonly retryAfterMs: number | null
  /** HTTP status; null without a response. */
  readonly status: number | null
  readonly requestId: string | null
  /** Never contains the secret. */
  readonly reason: string
}

/** The JSON of a success whose `data` the client rejects: the upstream documents no response to this POST (R8, A8). Else undefined. */
function acceptanceIn(thrown: unknown): unknown {
  if (!(thrown instanceof ApiError) || thrown.status === null) return undefined
  const { status, body } = thrown
  return status >= 200 && status < 300 && successIn(body) === true ? body : undefined
}

const maxStoredLength = 65_536
const hidden = '(not kept)'
const secretName = /secret|token|password|api_?key/i

/**
 * Returns a response as JSON without secrets, at most 64 KiB; null without a body. Hides members with secret names, and
 * `ourSecret` everywhere. `secret`: one that the upstream generated.
 */
function redactResponse(
  body: unknown,
  ourSecret: string,
): { readonly text: string | null; readonly secret: string | null } {
  let secret: string | null = null
  const text = JSON.stringify(body, (name, value: unknown) => {
    if (value === null || typeof value === 'boolean') return value
    if (!secretName.test(name)) return typeof value === 'string' ? value.replaceAll(ourSecret, hidden) : value
    if (name === 'secret' && typeof value === 'string' && value !== '' && value !== ourSecret) secret ??= value
    return hidden
  }) as string | undefined
  return { text: text === undefined ? null : text.slice(0, maxStoredLength), secret }
}

/** The upstream's id of the webhook, from the stored response (A8); null if it has none in a known place. */
export function webhookIdOf(answer: string | null): string | null {
  try {
    const { data } = JSON.parse(answer ?? '') as { readonly data: Readonly<Record<string, unknown>> }
    const id = data['webhook_id'] ?? data['id']
    return typeof id === 'string' ? id : null
  } catch {
    return null
  }
}
