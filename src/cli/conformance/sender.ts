import http from 'node:http'
import https from 'node:https'
import { messageOf } from '../../base/errors.ts'
import { safeText } from '../../base/log.ts'

export interface OutgoingRequest {
  readonly method?: 'POST' | 'GET'
  readonly body?: Buffer
  /** Value of the signature header. A list repeats the header; undefined leaves it out. */
  readonly signature?: string | readonly string[] | undefined
  /** Reuses an idle connection if there is one. */
  readonly isPooled?: boolean
  /** Writes the body at its own pace; by default it is written at once. */
  readonly pace?: (write: WriteBytes) => Promise<void>
  /** Milliseconds after which the request is abandoned; default: the time limit of the run. */
  readonly limitMs?: number
}

/** Writes a part of a body; resolves when it has left this process. */
export type WriteBytes = (bytes: Uint8Array) => Promise<void>

export interface Answer {
  /** Null without an answer; `failure` then says why. */
  readonly status: number | null
  readonly failure: string | null
  /** True if the connection stayed open and no answer came within the limit. */
  readonly isLate: boolean
  /** From the first byte sent to the status line. */
  readonly ms: number
}

interface SenderOptions {
  readonly url: URL
  readonly signatureHeader: string
  /** Accepts any TLS certificate. */
  readonly isInsecure: boolean
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** Sends one request. Rejects only when the run is aborted; any other failure is an `Answer`. */
export type Send = (request: OutgoingRequest) => Promise<Answer>

/** Sends to one URL, as the service does: the answer is its status line, and redirects are not followed. */
export function createSend({ url, signatureHeader, isInsecure, timeoutMs, signal }: SenderOptions): Send {
  const client = url.protocol === 'https:' ? https : http
  const pool = new client.Agent({ keepAlive: true })

  return async function send(outgoing) {
    const { method = 'POST', body, signature, isPooled = false, pace, limitMs = timeoutMs } = outgoing
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<Answer>()
    const startedAt = Date.now()
    const finish = (status: number | null, failure: string | null, isLate = false) =>
      resolve({ status, failure, isLate, ms: Date.now() - startedAt })
    const request = client.request(url, {
      method,
      signal,
      agent: isPooled ? pool : false,
      rejectUnauthorized: !isInsecure,
      headers: {
        'User-Agent': 'onchain-inbox-conformance',
        ...(body && { 'Content-Type': 'application/json', 'Content-Length': body.length }),
        ...(signature !== undefined && { [signatureHeader]: signature }),
      },
    })
    let isConnected = false
    request.on('socket', (socket) => {
      if (request.reusedSocket) isConnected = true
      else socket.once(client === https ? 'secureConnect' : 'connect', () => (isConnected = true))
    })
    const deadline = setTimeout(() => {
      finish(null, `no ${isConnected ? 'answer' : 'connection'} within ${limitMs} ms`, isConnected)
      request.destroy()
    }, limitMs)
    request.on('response', (response) => {
      finish(response.statusCode ?? 0, null)
      response.on('error', () => request.destroy())
      response.resume()
    })
    request.on('error', (error) => {
      if (signal.aborted) reject(error)
      // A receiver may close an idle connection at the moment it is reused.
      else if (isPooled && request.reusedSocket && codeOf(error) === 'ECONNRESET')
        resolve(send({ ...outgoing, isPooled: false }))
      else finish(null, describe(error))
    })
    request.on('close', () => {
      clearTimeout(deadline)
      finish(null, 'the connection was closed without an answer')
    })
    if (pace === undefined) request.end(body)
    else {
      const write: WriteBytes = (bytes) => new Promise((written) => request.write(bytes, () => written()))
      pace(write).then(
        () => request.end(),
        () => request.destroy(),
      )
    }
    return promise
  }
}

const reasons: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut without an answer',
  EPIPE: 'the connection was cut without an answer',
  ENOTFOUND: 'the host name is unknown',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'its certificate is self-signed (--insecure accepts it)',
  SELF_SIGNED_CERT_IN_CHAIN: 'its certificate is self-signed (--insecure accepts it)',
}

/** Why a connection failed, for people. */
export function describe(error: unknown): string {
  return reasons[codeOf(error)] ?? safeText(messageOf(error))
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
}
