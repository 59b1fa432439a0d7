import { lookup } from 'node:dns'
import {
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as httpRequest,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { BlockList, type LookupFunction, isIP } from 'node:net'
import type { Clock, Timer } from '../../base/clock.ts'
import { InboxError, messageOf } from '../../base/errors.ts'
import { safeText } from '../../base/log.ts'
import { withoutBrackets } from '../../base/loopback.ts'

/** How a body is sent: whole, in chunks, slowly, or only its beginning. */
export type Wire =
  | { readonly mode: 'whole' }
  | { readonly mode: 'chunked'; readonly chunkBytes: number }
  /** `bytes` at a time, `everyMs` of wall time apart. */
  | { readonly mode: 'slow'; readonly bytes: number; readonly everyMs: number }
  /** Announces the whole body, sends this share, then closes or resets the connection. */
  | { readonly mode: 'cut' | 'reset'; readonly share: number }

/** Acknowledgement timeout: the receiver must answer within this time (R80, R115). */
const acknowledgementTimeoutMs = 5000
/** Limits for reading a response body. The connection of a larger or slower body is closed. */
const [maxReadBytes, maxReadMs] = [65_536, 1_000]
const excerptBytes = 1_024
/** Maximum chunks per body. Larger bodies get larger chunks. */
const maxChunks = 10_000
/** Delay before a reset: a reset discards bytes that the receiver hasn't read yet. */
const resetAfterMs = 20

/** Result of one POST. `status` is null if no status line came in time. */
export interface PostResult {
  readonly isAcknowledged: boolean
  readonly status: number | null
  /** Reason for the failure, as text for people; null if acknowledged. */
  readonly failure: string | null
  /** Milliseconds of real time to the status line, or to the failure. */
  readonly latencyMs: number
  /** Start, and time of the status line or failure, in world time. */
  readonly at: number
  readonly endedAt: number
  /** Names in lower case, repeated headers joined by a comma; empty without a response. */
  readonly responseHeaders: Readonly<Record<string, string>>
  /** Beginning of the response body, escaped for display, at most 1,024 characters. */
  readonly responseExcerpt: string
}

interface PostOptions {
  readonly url: URL
  readonly body: Buffer
  /** Values by name. An array is sent as one header per item. */
  readonly headers: OutgoingHttpHeaders
  /** Default: the whole body at once. */
  readonly wire?: Wire
  /** True if only public addresses are allowed. Default: false. */
  readonly isPublicOnly?: boolean
}

/**
 * Posts over keep-alive connections. A POST is acknowledged if a 2xx status arrives within 5 s by the clock `wall`, DNS
 * lookup and TLS handshake included. The body of the response doesn't matter, and redirects are not followed (A43).
 */
export function createPoster({ clock, wall }: { readonly clock: Pick<Clock, 'now'>; readonly wall: Clock }) {
  // Separate agents: requests to public addresses only must not reuse connections to private ones.
  const agents = { any: createAgents({}), public: createAgents({ lookup: lookupPublic }) }
  const openRequests = new Set<ClientRequest>()

  return {
    /** Sends one body. Never rejects: failures are results. */
    post({ url, body, headers, wire = { mode: 'whole' }, isPublicOnly = false }: PostOptions): Promise<PostResult> {
      const { promise, resolve } = Promise.withResolvers<PostResult>()
      const [at, startedAt] = [clock.now(), wall.now()]
      const outcomeOf = (status: number | null, problem: string | null) => {
        const latencyMs = wall.now() - startedAt
        // Compares times, because a busy event loop may handle the response before an overdue timer.
        const late = latencyMs > acknowledgementTimeoutMs ? `answered after ${latencyMs} ms` : null
        const failure = problem ?? late
        return { isAcknowledged: failure === null, status, failure, latencyMs, at, endedAt: clock.now() }
      }
      let isAnswered = false
      const fail = (problem: string): void => {
        if (!isAnswered) resolve({ ...outcomeOf(null, problem), responseHeaders: {}, responseExcerpt: '' })
      }
      if (isPublicOnly && namesPrivateAddress(url)) {
        fail(notPublic)
        return promise
      }
      const { https, http, ...connection } = isPublicOnly ? agents.public : agents.any
      const breaks = wire.mode === 'cut' || wire.mode === 'reset'
      const framing = wire.mode === 'chunked' ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': body.length }
      const isSecure = url.protocol === 'https:'
      const request = (isSecure ? httpsRequest : httpRequest)(url, {
        ...connection,
        method: 'POST',
        headers: { ...headers, ...framing },
        // A connection that breaks is used for nothing else.
        agent: breaks ? false : isSecure ? https : http,
      })
      openRequests.add(request)
      const deadline = wall.after(acknowledgementTimeoutMs, () => {
        fail(`no answer within ${acknowledgementTimeoutMs} ms`)
        request.destroy()
      })
      request.on('response', (response) => {
        isAnswered = true
        deadline.cancel()
        const status = response.statusCode ?? 0
        const outcome = outcomeOf(status, status >= 200 && status <= 299 ? null : `answered ${status}`)
        readExcerpt(request, response, wall, (responseExcerpt) => {
          resolve({ ...outcome, responseHeaders: headersOf(response), responseExcerpt })
        })
      })
      request.on('error', (error) => fail(messageOf(error)))
      request.on('close', () => {
        deadline.cancel()
        openRequests.delete(request)
        fail('connection closed without an answer')
      })
      sendBody(request, body, wire, wall)
      return promise
    },
    /** Closes every connection. Posts in flight fail. */
    close(): void {
      for (const { http, https } of Object.values(agents)) for (const agent of [http, https]) agent.destroy()
      for (const request of openRequests) request.destroy()
    },
  }
}

function createAgents(connection: { readonly lookup?: LookupFunction }) {
  const options = { keepAlive: true, ...connection }
  return { http: new HttpAgent(options), https: new HttpsAgent(options), ...connection }
}

function headersOf({ headersDistinct }: IncomingMessage): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headersDistinct).map(([name, values = []]) => [name, values.join(', ')]))
}

/** Reads a response and calls `onExcerpt` once with the beginning of its body, escaped. A body that breaks off is no error. */
function readExcerpt(
  request: ClientRequest,
  response: IncomingMessage,
  wall: Clock,
  onExcerpt: (excerpt: string) => void,
): void {
  const beginning: Buffer[] = []
  let received = 0
  const limit = wall.after(maxReadMs, () => request.destroy())
  response.on('data', (chunk: Buffer) => {
    if (received < excerptBytes) beginning.push(chunk)
    received += chunk.length
    if (received > maxReadBytes) request.destroy()
  })
  response.on('end', () => {
    // The receiver has responded, so the rest of the request isn't needed.
    if (!request.writableFinished) request.destroy()
  })
  response.on('error', () => {})
  response.on('close', () => {
    limit.cancel()
    onExcerpt(toExcerpt(Buffer.concat(beginning).subarray(0, excerptBytes)))
  })
}

/** Omits an incomplete UTF-8 character at the end. */
function toExcerpt(bytes: Buffer): string {
  return safeText(new TextDecoder().decode(bytes, { stream: true }), excerptBytes - 1)
}

/** Sends the request body as the fault asks. */
function sendBody(request: ClientRequest, body: Buffer, wire: Wire, wall: Clock): void {
  switch (wire.mode) {
    case 'whole':
      request.end(body)
      return
    case 'chunked':
      for (const piece of piecesOf(body, Math.max(wire.chunkBytes, Math.ceil(body.length / maxChunks)))) {
        request.write(piece)
      }
      request.end()
      return
    case 'slow': {
      const pieces = piecesOf(body, wire.bytes)
      let timer: Timer | undefined
      const sendNext = (): void => {
        const piece = pieces.next().value
        if (piece === undefined) {
          request.end()
          return
        }
        request.write(piece)
        timer = wall.after(wire.everyMs, sendNext)
      }
      request.on('close', () => timer?.cancel())
      sendNext()
      return
    }
    case 'cut':
    case 'reset': {
      const isSecure = request.protocol === 'https:'
      const sent = Math.min(body.length - 1, Math.max(1, Math.floor(body.length * wire.share)))
      request.write(body.subarray(0, sent), () => {
        if (wire.mode === 'cut') request.socket?.end()
        // TLS connections can't be reset.
        else wall.after(resetAfterMs, () => (isSecure ? request.destroy() : request.socket?.resetAndDestroy()))
      })
    }
  }
}

function* piecesOf(body: Buffer, bytes: number): Generator<Buffer, undefined> {
  for (let at = 0; at < body.length; at += bytes) yield body.subarray(at, at + bytes)
}

/** Parses an endpoint URL. Throws `usage` for a scheme other than http(s) or a URL with credentials; the message omits the URL. */
export function toTarget(url: string): URL {
  const target = URL.parse(url)
  const isUsable = target !== null && /^https?:$/.test(target.protocol) && target.username + target.password === ''
  if (isUsable) return target
  throw new InboxError('usage', 'webhook URL must be http:// or https://, without user name and password')
}

/** Networks that are not public. Requests for outside clients must not reach them (SSRF). */
const privateNetworks =
  '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.168.0.0/16 198.18.0.0/15 ' +
  '224.0.0.0/3 ::/127 64:ff9b::/96 fc00::/7 fe80::/10 ff00::/8'
const privateAddresses = new BlockList()
for (const network of privateNetworks.split(' ')) {
  const [address = '', bits] = network.split('/')
  privateAddresses.addSubnet(address, Number(bits), isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

function isPrivate(address: string): boolean {
  return privateAddresses.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4')
}

/** True if the URL's host is a literal address that is not public. */
function namesPrivateAddress({ hostname }: URL): boolean {
  const host = withoutBrackets(hostname)
  return isIP(host) !== 0 && isPrivate(host)
}

const notPublic = 'the address is not public: clients from outside may register public URLs only'

/** DNS lookup that fails if any address is private. The connection uses the same result, which prevents DNS rebinding. */
const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) return callback(error, [])
    if (addresses.some(({ address }) => isPrivate(address))) return callback(new Error(notPublic), [])
    const [first] = addresses
    if (options.all === true || first === undefined) callback(null, addresses)
    else callback(null, first.address, first.family)
  })
}
