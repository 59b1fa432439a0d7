import { once } from 'node:events'
import { request, type IncomingHttpHeaders, type IncomingMessage, type RequestOptions } from 'node:http'
import { request as requestTls } from 'node:https'
import { text } from 'node:stream/consumers'

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** Read as what the test expects; null if the body is not JSON. */
  // eslint-disable-next-line typescript/no-explicit-any
  readonly json: any
}

/**
 * A request with exactly these headers, including any Host, and with an unchanged path, unlike `fetch`. Bytes are sent unchanged, every
 * other body as JSON. A stream is left after its headers.
 */
export async function send(
  to: string | RequestOptions,
  method: string,
  headers: Readonly<Record<string, string>> = {},
  body?: unknown,
): Promise<Reply> {
  const json = body !== undefined && { 'Content-Type': 'application/json' }
  const options = { method, agent: false, rejectUnauthorized: false, headers: { ...json, ...headers } }
  const isSecure = typeof to === 'string' && to.startsWith('https:')
  const outgoing =
    typeof to !== 'string' ? request({ ...to, ...options }) : (isSecure ? requestTls : request)(to, options)
  // Such as of a body that is rejected before its end.
  outgoing.on('error', () => {})
  outgoing.end(body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body))
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
  const { statusCode: status = 0, headers: answered } = response
  if (answered['content-type'] === 'text/event-stream') {
    outgoing.destroy()
    return { status, headers: answered, text: '', json: null }
  }
  const received = await text(response)
  const isJson = answered['content-type'] === 'application/json' && received !== ''
  return { status, headers: answered, text: received, json: isJson ? JSON.parse(received) : null }
}
