import { defineSink, RetryableError, type SinkDefinition, type SinkItem } from 'onchain-inbox'

export interface ForwardOptions {
  /** Where events are posted to. */
  readonly url: string
  /** The header that the signature goes into. */
  readonly signatureHeader: string
  /** The signature of these bytes by the webhook secret of that label, or by the first there is. */
  sign(raw: Uint8Array, secretLabel: string): string
}

/** An app that answers more is not read to the end. */
const longestAnswer = 64 * 1024
const shownOfAnswer = 200

/**
 * Posts every event to an app over HTTP: the bytes as they came, with their signature, so that the app can take them as if the
 * sender had posted them; and what handlers enqueue for it, as JSON, signed alike. Any 2xx means done. Anything else is tried
 * again, for about a day: from 1 s on, doubling up to 10 minutes, and not before what `Retry-After` says.
 */
export default function createForward(options: ForwardOptions): Readonly<SinkDefinition<'*'>> {
  return defineSink({
    name: 'forward',
    type: '*',
    timeoutMs: 30_000,
    retry: { attempts: 200, baseMs: 1_000, capMs: 600_000 },
    async send([item], { signal }) {
      if (item === undefined) return
      const body = item.payload === undefined ? item.event.raw : new TextEncoder().encode(JSON.stringify(item.payload))
      const response = await fetch(options.url, {
        method: 'POST',
        headers: headersOf(item, options.signatureHeader, options.sign(body, item.secretLabel)),
        body: Uint8Array.from(body),
        // A redirect is an answer like any other that is no 2xx: events go nowhere but to the URL of the settings.
        redirect: 'manual',
        signal,
      })
      const answer = await readStart(response)
      if (!response.ok) throw refusal(response, answer)
    },
  })
}

function headersOf(item: SinkItem, signatureHeader: string, signature: string): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    [signatureHeader]: signature,
    'Idempotency-Key': headerText(item.idempotencyKey),
    'X-Inbox-Event-Id': headerText(item.event.id),
    'X-Inbox-Attempt': String(item.attempt),
    'User-Agent': 'onchain-inbox',
  }
}

/** Visible ASCII as it is, all else percent-encoded: an id can be any text. */
function headerText(text: string): string {
  return /^[!-$&-~]+$/.test(text) ? text : encodeURIComponent(text)
}

/** Reads the answer, so that the connection can be used again, but no more than is reasonable. */
async function readStart(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let start = ''
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (start.length < shownOfAnswer) start += decoder.decode(chunk, { stream: true })
    if (length > longestAnswer) break
  }
  return start.slice(0, shownOfAnswer)
}

function refusal(response: Response, answer: string): Error {
  const said = answer === '' ? '' : `: ${answer}`
  const message = `the app answered ${response.status}${said}`
  const retryAfterMs = readRetryAfter(response.headers.get('Retry-After'))
  return retryAfterMs === undefined ? new Error(message) : new RetryableError(message, { retryAfterMs })
}

/** Seconds, or a date. */
function readRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined
  const ms = /^\d{1,9}$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now()
  return ms > 0 ? ms : undefined
}
