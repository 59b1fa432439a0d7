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
  /** First 64 KiB of the body. */
  readonly text: string
}

const maxAnswerBytes = 64 * 1024
/** Maximum characters of a response in an error message. */
const shownLength = 200
/** Time limit for reading the body of a 2xx response, which isn't needed. */
const successBodyMs = 1_000

/**
 * Sends one request and returns the response; an error status doesn't throw. Doesn't follow redirects. Reads at most
 * 64 KiB of the body. Throws if there is no response; the error omits the URL and headers, which may hold secrets.
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
    // Other TypeErrors quote the URL or the header.
    if (error instanceof TypeError && error.message !== 'fetch failed') {
      throw new Error('invalid URL or header in the settings')
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
  let left = maxAnswerBytes
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

/** The error for an answer that is not a success; a RetryableError if it has `Retry-After`. */
export function refusal({ status, headers, text }: Answer, who: string): Error {
  const excerpt = text === '' ? '' : `: ${text.slice(0, shownLength)}`
  const message = `${who} answered ${status}${excerpt}`
  const retryAfterMs = readRetryAfter(headers)
  return retryAfterMs === undefined ? new Error(message) : new RetryableError(message, { retryAfterMs })
}

const defaultWaitMs = 1_000

/** Like `refusal`. For a 429, also calls `pause` with `waitMs` milliseconds. Default: `Retry-After`, else one second. */
export function pausingRefusal(
  answer: Answer,
  who: string,
  pause: (ms: number) => void,
  waitMs: number = readRetryAfter(answer.headers) ?? defaultWaitMs,
): Error {
  const error = refusal(answer, who)
  if (answer.status !== 429) return error
  pause(waitMs)
  return new RetryableError(error.message, { retryAfterMs: waitMs })
}

/** True if the request itself was invalid, so that a retry fails, too. */
export const isUnusable = ({ status }: Answer): boolean => status === 400 || status === 413 || status === 422

/** `Retry-After` (seconds or a date) in milliseconds from now. Undefined: missing, or not in the future. */
export function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('Retry-After')?.trim()
  if (value === undefined) return undefined
  const ms = /^\d{1,9}(?:\.\d{1,9})?$/.test(value) ? Math.ceil(Number(value) * 1_000) : Date.parse(value) - Date.now()
  return ms > 0 ? ms : undefined
}

/** Timeout of one request. */
const requestMs = 15_000

export interface JsonPost {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body: unknown
  readonly signal: AbortSignal
  /** Name of the service, for messages. */
  readonly who: string
  /** Removes secrets from text. */
  readonly hide: (text: string) => string
}

/** Posts JSON and returns the response; an error status doesn't throw. Neither the response nor an error has secrets. */
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

/** `fetch` reports the reason in the cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code
  return cause instanceof Error ? cause.message : 'the request failed'
}

/** Returns a function that removes secrets from text, percent-encoded ones included. */
export function hider(secrets: readonly string[]): (text: string) => string {
  const hidden = secrets.flatMap((secret) => [secret, encodeURIComponent(secret)])
  return (text) => hidden.reduce((clean, secret) => clean.replaceAll(secret, '[hidden]'), text)
}

/** The parts of a URL that may be secret: path, longer parts of the path, and query. */
export function secretsOf(url: string): string[] {
  const { pathname, search } = new URL(url)
  const parts = pathname.split('/').filter((part) => part.length >= 8)
  return [url, `${pathname}${search}`, pathname, search, ...parts].filter((secret) => secret.length >= 8)
}

/** The value at a path of a JSON answer; undefined if there is none. */
export function memberOf(answer: Pick<Answer, 'text'>, ...path: readonly string[]): unknown {
  try {
    return memberAt(JSON.parse(answer.text), path)
  } catch {
    return undefined
  }
}
