import { RetryableError } from 'onchain-inbox'
import { memberAt } from './kind.ts'

export interface HttpPost {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array | string
  readonly signal: AbortSignal
  /** Name of the receiver in errors. */
  readonly receiver: string
  /** Texts that neither the response nor an error may show. */
  readonly secrets: readonly string[]
}

export interface HttpResponse {
  readonly status: number
  readonly headers: Headers
  /** First 64 KiB of the body, without secrets. */
  readonly text: string
}

export const jsonHeaders = { 'Content-Type': 'application/json', 'User-Agent': 'onchain-inbox' } as const

const maxResponseBytes = 64 * 1024
/** Maximum characters of a response in an error message. */
const maxExcerptLength = 200
/** Time limit for reading the body of a 2xx response, which isn't needed. */
const successBodyMs = 1_000

/**
 * Posts a request and returns the response; an error status doesn't throw. Doesn't follow redirects. Throws the reason of
 * `signal` if that is aborted, or an error if there is no response.
 */
export async function post({ url, headers, body, signal, receiver, secrets }: HttpPost): Promise<HttpResponse> {
  const request = {
    method: 'POST',
    headers,
    body: typeof body === 'string' ? body : Uint8Array.from(body),
    redirect: 'manual',
    signal,
  } as const
  try {
    const response = await fetch(url, request)
    const text = hide(await readStart(response, signal), secrets)
    return { status: response.status, headers: response.headers, text }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw new Error(`${receiver} could not be reached: ${hide(reasonOf(error), secrets)}`)
  }
}

async function readStart(response: Response, signal: AbortSignal): Promise<string> {
  const reader = response.body?.getReader()
  if (reader === undefined) return ''
  const decoder = new TextDecoder()
  let text = ''
  let remaining = maxResponseBytes
  const timer = response.ok ? setTimeout(() => void reader.cancel().catch(() => {}), successBodyMs) : undefined
  try {
    while (remaining > 0) {
      const { value } = await reader.read()
      if (value === undefined) return text
      text += decoder.decode(value.subarray(0, remaining), { stream: true })
      remaining -= value.length
    }
    await reader.cancel()
  } catch {
    signal.throwIfAborted()
  } finally {
    clearTimeout(timer)
  }
  return text
}

/** `fetch` reports the reason in the cause. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code
  return cause instanceof Error ? cause.message : 'the request failed'
}

/** Removes secrets from text, percent-encoded ones included. */
function hide(text: string, secrets: readonly string[]): string {
  const hidden = secrets.flatMap((secret) => [secret, encodeURIComponent(secret)])
  return hidden.reduce((clean, secret) => clean.replaceAll(secret, '[hidden]'), text)
}

export const isSuccess = ({ status }: HttpResponse): boolean => status >= 200 && status < 300

/** True if the request itself was invalid, so that a retry fails, too. */
export const isInvalidRequest = ({ status }: HttpResponse): boolean =>
  status === 400 || status === 413 || status === 422

/** Wait after a 429 that names none, in milliseconds. */
const defaultWaitMs = 1_000

/**
 * The error for a response that is not a success. It is a RetryableError if a wait is known: `waitMs`, by default from
 * `Retry-After`. After a 429, calls `pause` with the wait.
 */
export function toHttpError(
  { status, headers, text }: HttpResponse,
  receiver: string,
  pause: (ms: number) => void = () => {},
  waitMs: number | undefined = readRetryAfter(headers),
): Error {
  const message = `${receiver} answered ${status}${text === '' ? '' : `: ${text.slice(0, maxExcerptLength)}`}`
  const retryAfterMs = waitMs ?? (status === 429 ? defaultWaitMs : undefined)
  if (retryAfterMs === undefined) return new Error(message)
  if (status === 429) pause(retryAfterMs)
  return new RetryableError(message, { retryAfterMs })
}

/** `Retry-After` (seconds or a date) in milliseconds from now. Undefined: missing, or not in the future. */
export function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('Retry-After')?.trim()
  if (value === undefined) return undefined
  const ms = /^\d{1,9}(?:\.\d{1,9})?$/.test(value) ? Math.ceil(Number(value) * 1_000) : Date.parse(value) - Date.now()
  return ms > 0 ? ms : undefined
}

/** The parts of a URL that may be secret: path, longer parts of the path, and query. */
export function secretsOf(url: string): string[] {
  const { pathname, search } = new URL(url)
  return [url, `${pathname}${search}`, pathname, search, ...pathname.split('/')].filter(({ length }) => length >= 8)
}

/** A number at a path of a JSON response, in seconds, as milliseconds; undefined if there is none above 0. */
export function waitIn({ text }: HttpResponse, ...path: readonly string[]): number | undefined {
  try {
    const seconds = memberAt(JSON.parse(text), path)
    return typeof seconds === 'number' && seconds > 0 ? Math.ceil(seconds * 1_000) : undefined
  } catch {
    return undefined
  }
}
