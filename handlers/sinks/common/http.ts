import { RetryableError } from 'onchain-inbox'
import { memberAt } from './kind.ts'

export interface HttpRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | string
  readonly signal: AbortSignal
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** The body as text: its first 64 KiB. */
  readonly text: string
}

/** Who answers more is not read to the end. */
const longestAnswer = 64 * 1024
const shownOfAnswer = 200
/** For so long the body of a success is waited for: what was sent was taken, whether or not the answer ever ends. */
const successBodyMs = 1_000

/**
 * Sends one request and gives the answer, whatever its status. A redirect is an answer like any other: what is sent goes nowhere
 * but to `url`. Of the answer 64 KiB are read at most, and where it breaks off, what had come; of a longer one the connection is
 * closed. Throws where there is no answer: never with the URL or a header, which may hold a secret.
 */
export async function sendHttp(url: string, { headers, body, signal }: HttpRequest): Promise<Answer> {
  const request = {
    method: 'POST',
    headers,
    body: typeof body === 'string' ? body : Uint8Array.from(body),
    redirect: 'manual',
    signal,
  } as const
  const response = await fetch(url, request).catch((error: unknown) => {
    // Any other TypeError quotes the URL or the header that is wrong.
    if (error instanceof TypeError && error.message !== 'fetch failed') {
      throw new Error('no request can be made of the URL and the headers of the settings')
    }
    throw error
  })
  return { status: response.status, headers: response.headers, text: await readStart(response, signal) }
}

async function readStart(response: Response, signal: AbortSignal): Promise<string> {
  const reader = response.body?.getReader()
  if (reader === undefined) return ''
  const decoder = new TextDecoder()
  let text = ''
  let left = longestAnswer
  const late = response.ok ? setTimeout(() => void reader.cancel().catch(() => {}), successBodyMs) : undefined
  try {
    while (left > 0) {
      const { value } = await reader.read()
      if (value === undefined) return text
      text += decoder.decode(value.subarray(0, left), { stream: true })
      left -= value.length
    }
    await reader.cancel()
  } catch {
    signal.throwIfAborted()
  } finally {
    clearTimeout(late)
  }
  return text
}

/**
 * What to throw for an answer that is no success: it says who answered what. Where the answer says how long to wait, it is a
 * RetryableError that keeps to it.
 */
export function refusal({ status, headers, text }: Answer, who: string): Error {
  const said = text === '' ? '' : `: ${text.slice(0, shownOfAnswer)}`
  const message = `${who} answered ${status}${said}`
  const retryAfterMs = readRetryAfter(headers)
  return retryAfterMs === undefined ? new Error(message) : new RetryableError(message, { retryAfterMs })
}

const defaultWaitMs = 1_000

/** The same, and after a 429 a pause for as long as was `said` in a way of the service's own, else by `Retry-After`, else for a second. */
export function pausingRefusal(
  answer: Answer,
  who: string,
  pause: (ms: number) => void,
  said: number = readRetryAfter(answer.headers) ?? defaultWaitMs,
): Error {
  const error = refusal(answer, who)
  if (answer.status !== 429) return error
  pause(said)
  return new RetryableError(error.message, { retryAfterMs: said })
}

/** Whether the status says that what was sent is at fault: it will not be right the next time. */
export const isUnusable = ({ status }: Answer): boolean => status === 400 || status === 413 || status === 422

/** What `Retry-After` says, in milliseconds from now: it holds seconds, or a date. Undefined: nothing, or no time to come. */
export function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('Retry-After')?.trim()
  if (value === undefined) return undefined
  const ms = /^\d{1,9}(?:\.\d{1,9})?$/.test(value) ? Math.ceil(Number(value) * 1_000) : Date.parse(value) - Date.now()
  return ms > 0 ? ms : undefined
}

/** How long one request may take, whatever the send around it may. */
const requestMs = 15_000

export interface JsonPost {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
  readonly signal: AbortSignal
  /** Whom it goes to, for messages. */
  readonly who: string
  readonly hide: (text: string) => string
}

/**
 * Posts JSON and gives the answer, whatever its status. Throws an Error without any secret where there is none. The answer's
 * text is clean of them as well.
 */
export async function postJson({ url, headers, body, signal, who, hide }: JsonPost): Promise<Answer> {
  const timeout = AbortSignal.timeout(requestMs)
  try {
    const answer = await sendHttp(url, {
      headers: { 'Content-Type': 'application/json', 'User-Agent': 'onchain-inbox', ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.any([signal, timeout]),
    })
    return { ...answer, text: hide(answer.text) }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    if (timeout.aborted) throw new Error(`${who} did not answer within ${requestMs / 1_000} s`)
    throw new Error(`${who} could not be reached: ${hide(reasonOf(error))}`)
  }
}

/** `fetch` says what went wrong in the cause, and of several tries in the errors of that. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code
  return cause instanceof Error ? cause.message : 'the request failed'
}

/** A function that takes secrets out of a text, also where they stand percent-encoded. */
export function hider(secrets: readonly string[]): (text: string) => string {
  const hidden = secrets.flatMap((secret) => [secret, encodeURIComponent(secret)])
  return (text) => hidden.reduce((clean, secret) => clean.replaceAll(secret, '[hidden]'), text)
}

/** What of a URL is secret: its path, the path's longer parts, and its query. */
export function secretsOf(url: string): string[] {
  const { pathname, search } = new URL(url)
  const parts = pathname.split('/').filter((part) => part.length >= 8)
  return [url, `${pathname}${search}`, pathname, search, ...parts].filter((secret) => secret.length >= 8)
}

/** A member of an answer in JSON, by its path; undefined where it is not there. */
export function memberOf(answer: Pick<Answer, 'text'>, ...path: readonly string[]): unknown {
  try {
    return memberAt(JSON.parse(answer.text), path)
  } catch {
    return undefined
  }
}
