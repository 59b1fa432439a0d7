import { sign } from '../../src/signature/sign.ts'
import { testSecret } from './app.ts'
import type { RequestParts } from './raw-http.ts'
import { until } from './until.ts'

export interface EventParts {
  readonly id: string
  readonly type?: string
  readonly data?: Readonly<Record<string, unknown>>
}

/** The bytes of a valid event. */
export function eventBytes({ id, type = 'wallet.large_trade', data = { amount_usd: 1 } }: EventParts): Buffer {
  return Buffer.from(JSON.stringify({ id, type, created_at: '2026-01-31T14:03:22.123Z', data }))
}

/** The request that delivers these bytes, signed; `headers` come on top. */
export function delivery(
  body: Uint8Array,
  { secret = testSecret, headers = {} }: { readonly secret?: string; readonly headers?: RequestParts['headers'] } = {},
): RequestParts {
  return { headers: { 'X-Service-Signature': sign(body, secret), ...headers }, body }
}

/** Posts signed bytes until they are accepted: a busy machine may answer 503. Throws for any other status. */
export async function deliver({ url }: { readonly url: string }, raw: Uint8Array, secret?: string): Promise<void> {
  const { headers } = delivery(raw, { ...(secret !== undefined && { secret }) })
  await until(async () => {
    const answer = await fetch(url, { method: 'POST', headers: headers as HeadersInit, body: Uint8Array.from(raw) })
    if (answer.status !== 200 && answer.status !== 503)
      throw new Error(`answered ${answer.status}: ${await answer.text()}`)
    return answer.status === 200
  }, 'the delivery is accepted')
}
