import { sign } from '../../signature/sign.ts'

export interface SignedRequestOptions {
  /** Default `X-Service-Signature`. */
  readonly signatureHeader?: string
}

/** What `fetch` takes beside the URL; for supertest, `.set(headers).send(body)`. */
export interface SignedRequest {
  readonly method: 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * The request by which the sender delivers an event. A text is sent as it is, be it an event or not.
 *
 * @example
 * const response = await fetch(url, signedRequest(createEvent('token.price_alert'), secret))
 */
export function signedRequest(
  event: object | string,
  secret: string,
  { signatureHeader = 'X-Service-Signature' }: SignedRequestOptions = {},
): SignedRequest {
  const body = typeof event === 'string' ? event : JSON.stringify(event)
  const headers = { 'Content-Type': 'application/json', [signatureHeader]: sign(Buffer.from(body), secret) }
  return { method: 'POST', headers, body }
}
