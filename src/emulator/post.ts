import { lookup } from 'node:dns'
import {
  Agent as HttpAgent,
  type ClientRequest,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as httpRequest,
} from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { BlockList, type LookupFunction, type Socket, connect, isIP } from 'node:net'
import type { Clock, Timer } from '../base/clock.ts'
import { InboxError, messageOf } from '../base/errors.ts'
import { safeText } from '../base/log.ts'
import { withoutBrackets } from '../base/loopback.ts'
import type { Wire } from './faults/port.ts'
import { connect as connectTls } from 'node:tls'

const whole: Wire = { mode: 'whole' }
/** Acknowledgement timeout: the receiver must answer within this time (R80, R115). */
const acknowledgementTimeoutMs = 5000

/** Result of one POST. `status` is null if no status line came in time. */
export interface PostResult {
  readonly isAcknowledged: boolean
  readonly status: number | null
  /** Reason for the failure, as text for people; null if acknowledged. */
  readonly failure: string | null
  /** Milliseconds to the status line, or to the failure. */
  readonly latencyMs: number
  /** Names in lower case, repeated headers joined by a comma; empty without a response. */
  readonly responseHeaders: Readonly<Record<string, string>>
  /** Beginning of the response body, escaped for display, at most 1,024 characters. */
  readonly responseExcerpt: string
}

/** Values by name. An array is sent as one header per item; an empty array sends no header. */
type PostHeaders = Readonly<Record<string, string | readonly string[]>>

interface PostOptions {
  /** Default: the whole body at once. */
  readonly wire?: Wire
  /** True if only public addresses are allowed. Default: false. */
  readonly isPublicOnly?: boolean
  /** Called once the outcome is known. The promise may resolve up to 50 ms later, with the beginning of the response body. */
  readonly onOutcome?: () => void
}

export interface Poster {
  /** Sends one body. Never rejects: failures are results. */
  post(url: URL, body: Buffer, headers: PostHeaders, options?: PostOptions): Promise<PostResult>
  /** Closes every connection. Posts in flight fail. */
  close(): void
}

/**
 * Posts over keep-alive connections. A request with the fault `cut` or `reset` gets a separate connection. A POST is
 * acknowledged if a 2xx status arrives within 5 s by the clock `wall`, DNS lookup and TLS handshake included. Redirects
 * are not followed (A43).
 */
export function createPoster(wall: Clock): Poster {
  // Separate agents: requests to public addresses only must not reuse connections to private ones.
  const anyRoute = { agents: createAgents(), lookup: undefined }
  const publicRoute = { agents: createAgents(), lookup: lookupPublic }
  const openRequests = new Set<ClientRequest>()

  function open(url: URL, headers: OutgoingHttpHeaders, { own, agents, lookup }: Route): ClientRequest {
    const connection = own === null ? { ...(lookup && { lookup }) } : { createConnection: () => own.socket }
    const options = { method: 'POST', headers, ...connection }
    return url.protocol === 'https:'
      ? httpsRequest(url, { ...options, ...(own === null && { agent: agents.https }) })
      : httpRequest(url, { ...options, ...(own === null && { agent: agents.http }) })
  }

  return {
    post(url, body, headers, { wire = whole, isPublicOnly = false, onOutcome = () => {} } = {}) {
      return new Promise((resolve) => {
        const startedAt = wall.now()
        const outcomeOf = (status: number | null, problem: string | null) => {
          const latencyMs = wall.now() - startedAt
          // Compares times, because a busy event loop may handle the response before an overdue timer.
          const late = latencyMs > acknowledgementTimeoutMs ? `answered after ${latencyMs} ms` : null
          const failure = problem ?? late
          onOutcome()
          return { isAcknowledged: failure === null, status, failure, latencyMs }
        }
        let isAnswered = false
        // Ignored once a response has arrived.
        const fail = (problem: string): void => {
          if (!isAnswered) resolve({ ...outcomeOf(null, problem), responseHeaders: {}, responseExcerpt: '' })
        }

        if (isPublicOnly && namesPrivateAddress(url)) return fail(notPublic)
        const route = isPublicOnly ? publicRoute : anyRoute
        const own = openOwnConnection(url, wire, route.lookup)
        const request = open(url, { ...toOutgoing(headers), ...framingOf(body, wire) }, { own, ...route })
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
          readAnswer(request, response, wall, (responseExcerpt) => {
            resolve({ ...outcome, responseHeaders: headersOf(response), responseExcerpt })
          })
        })
        request.on('error', (error) => fail(messageOf(error)))
        request.on('close', () => {
          deadline.cancel()
          openRequests.delete(request)
          fail('connection closed without an answer')
        })
        sendBody(request, body, { wire, wall, breakOff: () => own?.breakOff() })
      })
    },
    close() {
      for (const { agents } of [anyRoute, publicRoute]) for (const agent of Object.values(agents)) agent.destroy()
      for (const request of openRequests) request.destroy()
    },
  }
}

interface Route {
  /** Connection for this request alone; null: use the agents. */
  readonly own: OwnConnection | null
  readonly agents: ReturnType<typeof createAgents>
  /** DNS lookup; undefined: Node's default. */
  readonly lookup: LookupFunction | undefined
}

function createAgents() {
  return { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) }
}

function headersOf({ headersDistinct }: IncomingMessage): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(headersDistinct).map(([name, values = []]) => [name, values.join(', ')]))
}

function toOutgoing(headers: PostHeaders): OutgoingHttpHeaders {
  const values = Object.entries(headers).map(([name, value]) => [name, [value].flat()] as const)
  return Object.fromEntries(values.filter(([, list]) => list.length > 0))
}

/**
 * Parses an endpoint URL. Throws `usage` for a scheme other than http(s) or a URL with credentials; the message omits
 * the URL.
 */
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
  lookup(hostname, { ...options, all: true }, (error, found) => {
    if (error !== null) return callback(error, [])
    if (found.some(({ address }) => isPrivate(address))) return callback(new Error(notPublic), [])
    const [first] = found
    if (options.all === true || first === undefined) callback(null, found)
    else callback(null, first.address, first.family)
  })
}

const excerptBytes = 1_024
/** Maximum wait for the beginning of the response body. */
const excerptMs = 50
/** Limits for reading the rest of a response body. A larger or slower body closes the connection instead of reusing it. */
const [maxDrainedBytes, maxDrainMs] = [65_536, 1_000]

/**
 * Reads a response. Calls `onExcerpt` once with the beginning of the body, escaped: when 1,024 bytes have arrived, when
 * the body ends, or after 50 ms. An aborted body is not an error. A body above the limits is cut off.
 */
function readAnswer(
  request: ClientRequest,
  response: IncomingMessage,
  wall: Clock,
  onExcerpt: (excerpt: string) => void,
): void {
  const beginning: Buffer[] = []
  let received = 0

  let reportExcerpt: (() => void) | undefined = () => {
    reportExcerpt = undefined
    excerptTimer.cancel()
    onExcerpt(toExcerpt(Buffer.concat(beginning).subarray(0, excerptBytes)))
    beginning.length = 0
  }
  const excerptTimer = wall.after(excerptMs, () => reportExcerpt?.())
  const end = wall.after(maxDrainMs, () => request.destroy())

  response.on('data', (chunk: Buffer) => {
    received += chunk.length
    if (reportExcerpt !== undefined) beginning.push(chunk)
    if (received >= excerptBytes) reportExcerpt?.()
    if (received > maxDrainedBytes) request.destroy()
  })
  response.on('end', () => {
    reportExcerpt?.()
    // The receiver has responded, so the rest of the request isn't needed.
    if (!request.writableFinished) request.destroy()
  })
  response.on('error', () => request.destroy())
  response.on('close', () => reportExcerpt?.())
  request.on('close', () => {
    end.cancel()
    reportExcerpt?.()
  })
}

/** Omits an incomplete UTF-8 character at the end. */
function toExcerpt(bytes: Buffer): string {
  if (bytes.length === 0) return ''
  const text = new TextDecoder().decode(bytes, { stream: true })
  return safeText(text, excerptBytes - 1)
}

/** Maximum chunks per body. Larger bodies get larger chunks. */
const maxChunks = 10_000

/** Delay before a reset: a reset discards bytes that the receiver hasn't read yet. */
const resetAfterMs = 20

type Breaking = 'cut' | 'reset'

/** A connection for one request, which breaks off in the middle of the body. */
export interface OwnConnection {
  readonly socket: Socket
  breakOff(): void
}

/** Returns null for the other modes, which use the agents' connections. */
function openOwnConnection(url: URL, { mode }: Wire, lookup?: LookupFunction): OwnConnection | null {
  return mode === 'cut' || mode === 'reset' ? connectTo(url, mode, lookup) : null
}

function connectTo(url: URL, mode: Breaking, lookup: LookupFunction | undefined): OwnConnection {
  const isSecure = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const tcp = connect({ host, port: Number(url.port) || (isSecure ? 443 : 80), ...(lookup && { lookup }) })
  const named = isIP(host) === 0 ? { servername: host } : {}
  const socket = isSecure ? connectTls({ socket: tcp, host, ...named, ALPNProtocols: ['http/1.1'] }) : tcp
  // Only the TCP socket can be reset, not the TLS socket above it.
  return { socket, breakOff: () => (mode === 'cut' ? socket.end() : tcp.resetAndDestroy()) }
}

/** Headers that frame the body. */
function framingOf(body: Buffer, { mode }: Wire): Readonly<Record<string, string | number>> {
  return mode === 'chunked' ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': body.length }
}

export interface SendOptions {
  readonly wire: Wire
  readonly wall: Clock
  /** Closes or resets the connection. */
  readonly breakOff: () => void
}

/** Sends the request body as the fault asks: whole, in chunks, slowly, or only its beginning. */
function sendBody(request: ClientRequest, body: Buffer, { wire, wall, breakOff }: SendOptions): void {
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
    case 'slow':
      sendSlowly(request, piecesOf(body, wire.bytes), wire.everyMs, wall)
      return
    case 'cut':
    case 'reset': {
      const sent = Math.min(body.length - 1, Math.max(1, Math.floor(body.length * wire.share)))
      request.write(body.subarray(0, sent), () => {
        if (wire.mode === 'cut') breakOff()
        else wall.after(resetAfterMs, breakOff)
      })
    }
  }
}

function* piecesOf(body: Buffer, bytes: number): Generator<Buffer, undefined> {
  for (let at = 0; at < body.length; at += bytes) yield body.subarray(at, at + bytes)
}

function sendSlowly(request: ClientRequest, pieces: Generator<Buffer, undefined>, everyMs: number, wall: Clock): void {
  let timer: Timer | undefined
  const next = () => {
    const piece = pieces.next().value
    if (piece === undefined) {
      request.end()
      return
    }
    request.write(piece)
    timer = wall.after(everyMs, next)
  }
  request.on('close', () => timer?.cancel())
  next()
}
