import { createHmac } from 'node:crypto'
import { headerText } from './body.ts'

export interface SignOptions {
  /** The same on every attempt. */
  readonly id: string
  /** `whsec_` and base64, or the key itself as text. Each of them signs. */
  readonly secrets: readonly string[]
  /** Milliseconds since 1970. */
  readonly now: number
}

/** The headers that sign a body as the Standard Webhooks say: `webhook-id`, `webhook-timestamp`, `webhook-signature`. */
export function standardWebhookHeaders(
  body: Uint8Array,
  { id, secrets, now }: SignOptions,
): Readonly<Record<string, string>> {
  // The parts of what is signed stand between dots.
  const shownId = headerText(id).replaceAll('.', '%2E')
  const timestamp = String(Math.floor(now / 1_000))
  const signatures = secrets.map((secret) => {
    const hmac = createHmac('sha256', keyOf(secret)).update(`${shownId}.${timestamp}.`).update(body)
    return `v1,${hmac.digest('base64')}`
  })
  return { 'webhook-id': shownId, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') }
}

function keyOf(secret: string): Buffer {
  const prefix = 'whsec_'
  return secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), 'base64') : Buffer.from(secret)
}
