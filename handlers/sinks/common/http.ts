import { RetryableError } from 'onchain-inbox'

export interface HttpRequest {
  /** Default POST. */
  readonly method?: string
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
export async function sendHttp(url: string, { method = 'POST', headers, body, signal }: HttpRequest): Promise<Answer> {
  const request = {
    method,
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

/** What `Retry-After` says, in milliseconds from now: it holds seconds, or a date. Undefined: nothing, or no time to come. */
export function readRetryAfter(headers: Headers): number | undefined {
  const value = headers.get('Retry-After')?.trim()
  if (value === undefined) return undefined
  const ms = /^\d{1,9}(?:\.\d{1,9})?$/.test(value) ? Math.ceil(Number(value) * 1_000) : Date.parse(value) - Date.now()
  return ms > 0 ? ms : undefined
}
