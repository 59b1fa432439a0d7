import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Clock } from '../clock.ts'
import { messageOf } from '../errors.ts'
import { safeText } from '../log.ts'
import type { Answer, OutgoingRequest } from './port.ts'

export interface SenderOptions {
  readonly url: URL
  readonly signatureHeader: string
  /** Whether any certificate is good enough. */
  readonly isInsecure: boolean
  readonly timeoutMs: number
  readonly clock: Clock
}

export interface Sender {
  /** Sends one request. Never rejects: whatever goes wrong is an answer with a `failure`. A redirect is not followed (A43). */
  send(request: OutgoingRequest): Promise<Answer>
  /** Cuts every connection; requests under way end as failed, further ones at once. */
  close(): void
}

const interrupted = 'interrupted'

/** Sends to one URL alone. The answer is its status line: the body is not awaited (A43). */
export function createSender({ url, signatureHeader, isInsecure, timeoutMs, clock }: SenderOptions): Sender {
  const isHttps = url.protocol === 'https:'
  const pool = isHttps ? new HttpsAgent({ keepAlive: true }) : new HttpAgent({ keepAlive: true })
  const open = new Set<ClientRequest>()
  let isClosed = false

  function begin({ method = 'POST', body, signature, isPooled = false }: OutgoingRequest): ClientRequest {
    const options: RequestOptions = {
      method,
      agent: isPooled ? pool : false,
      headers: {
        'User-Agent': 'onchain-inbox-conformance',
        ...(body && { 'Content-Type': 'application/json', 'Content-Length': body.length }),
        ...(signature !== undefined && { [signatureHeader]: signature }),
      },
    }
    return isHttps ? httpsRequest(url, { ...options, rejectUnauthorized: !isInsecure }) : httpRequest(url, options)
  }

  function send(outgoing: OutgoingRequest): Promise<Answer> {
    if (isClosed) return Promise.resolve({ status: null, failure: interrupted, isLate: false, ms: 0 })
    const { body, isPooled = false, pace, limitMs = timeoutMs } = outgoing
    return new Promise((resolve) => {
      const startedAt = clock.now()
      const request = begin(outgoing)
      open.add(request)
      let isConnected = false
      const finish = (status: number | null, failure: string | null, isLate = false) =>
        resolve({ status, failure: isClosed ? interrupted : failure, isLate, ms: clock.now() - startedAt })
      const deadline = clock.after(limitMs, () => {
        finish(null, isConnected ? `no answer within ${limitMs} ms` : `no connection within ${limitMs} ms`, isConnected)
        request.destroy()
      })
      request.on('socket', (socket) => {
        if (request.reusedSocket) isConnected = true
        else socket.once(isHttps ? 'secureConnect' : 'connect', () => (isConnected = true))
      })
      request.on('response', (response) => {
        finish(response.statusCode ?? 0, null)
        response.on('error', () => request.destroy())
        response.resume()
      })
      request.on('error', (error) => {
        // A receiver may close a connection that nobody uses in the very moment in which it is used again.
        if (isPooled && request.reusedSocket && codeOf(error) === 'ECONNRESET')
          resolve(send({ ...outgoing, isPooled: false }))
        else finish(null, describe(error))
      })
      request.on('close', () => {
        open.delete(request)
        deadline.cancel()
        finish(null, 'the connection was closed without an answer')
      })
      if (pace === undefined) request.end(body)
      else {
        const write = (bytes: Uint8Array) => new Promise<void>((written) => request.write(bytes, () => written()))
        void pace(write).then(() => request.end())
      }
    })
  }

  return {
    send,
    close() {
      isClosed = true
      for (const request of open) request.destroy()
      pool.destroy()
    },
  }
}

const known: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut without an answer',
  EPIPE: 'the connection was cut without an answer',
  ENOTFOUND: 'the name of the host is not known',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed (--insecure takes it)',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is self-signed (--insecure takes it)',
}

/** What went wrong with a connection, for people. */
export function describe(error: Error): string {
  return known[codeOf(error)] ?? safeText(messageOf(error))
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : ''
}
