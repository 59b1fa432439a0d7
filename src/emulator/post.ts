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
  /** Why it failed, for people; null if acknowledged. */
  readonly failure: string | null
  /** Milliseconds to the status line, or to the failure. */
  readonly latencyMs: number
  /** Names in lower case, repeated headers joined by a comma; empty without a response. */
  readonly responseHeaders: Readonly<Record<string, string>>
  /** Beginning of the response body, escaped for display, at most 1,024 characters. */
  readonly responseExcerpt: string
}

/** Values by name. An array is sent as one header per item; an empty array as none. */
type PostHeaders = Readonly<Record<string, string | readonly string[]>>

interface PostOptions {
  /** Default: the whole body at once. */
  readonly wire?: Wire
  /** True if only public addresses are allowed. Default: false. */
  readonly isPublicOnly?: boolean
  /** Called once the outcome is known, up to 50 ms before the result: that waits for the beginning of the response body. */
  readonly onOutcome?: () => void
}

export interface Poster {
  /** Sends one body. Never rejects: failures are results. */
  post(url: URL, body: Buffer, headers: PostHeaders, how?: PostOptions): Promise<PostResult>
  /** Closes every connection. Posts in flight fail. */
  close(): void
}

/**
 * Posts over kept-alive connections; a wire that breaks gets its own connection. Acknowledged means a 2xx status within
 * 5.000 s of the start, DNS lookup and TLS included, measured on `wall`. Redirects are not followed (A43). The result
 * comes at most 50 ms after the status line, with the beginning of the response body.
 */
export function createPoster(wall: Clock): Poster {
  // Connections of one route are never reused for the other.
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
          // The clock decides, not the timer: a busy event loop may see the answer before a timer long due.
          const late = latencyMs > acknowledgementTimeoutMs ? `answered after ${latencyMs} ms` : null
          const failure = problem ?? late
          onOutcome()
          return { isAcknowledged: failure === null, status, failure, latencyMs }
        }
        let isAnswered = false
        // The first outcome wins.
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
  readonly own: OwnConnection | null
  readonly agents: ReturnType<typeof createAgents>
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

/** Addresses of this machine and its network: clients from outside must not have requests sent there (SSRF). */
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

/** DNS lookup for a connection. Fails if any address is private, so that DNS rebinding doesn't help. */
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
/**
 * Limits for draining a response body so that its connection can be reused. A larger or slower body costs the
 * connection.
 */
const [maxDrainedBytes, maxDrainMs] = [65_536, 1_000]

/**
 * Reads a response. Calls `onExcerpt` once, with the beginning of the body as safe text: when enough has arrived, when
 * it ends, or after 50 ms of wall time. A body that breaks off is no error; an endless one is cut off.
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
    // The receiver has answered, so the rest of the request is pointless.
    if (!request.writableFinished) request.destroy()
  })
  response.on('error', () => request.destroy())
  response.on('close', () => reportExcerpt?.())
  request.on('close', () => {
    end.cancel()
    reportExcerpt?.()
  })
}

/** Omits a character that the limit cuts in two. */
function toExcerpt(bytes: Buffer): string {
  if (bytes.length === 0) return ''
  const text = new TextDecoder().decode(bytes, { stream: true })
  return safeText(text, excerptBytes - 1)
}

/** Limit of chunks per body; more would only take longer. */
const maxChunks = 10_000

/** A reset discards bytes the receiver has not read yet, so it gets a moment to read them. */
const resetAfterMs = 20

type Breaking = 'cut' | 'reset'

/** A connection for one request that breaks in its middle. */
export interface OwnConnection {
  readonly socket: Socket
  breakOff(): void
}

/** Null for a wire that doesn't break: it shares the agents' connections. */
function openOwnConnection(url: URL, { mode }: Wire, lookup?: LookupFunction): OwnConnection | null {
  return mode === 'cut' || mode === 'reset' ? connectTo(url, mode, lookup) : null
}

function connectTo(url: URL, mode: Breaking, lookup: LookupFunction | undefined): OwnConnection {
  const isSecure = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const tcp = connect({ host, port: Number(url.port) || (isSecure ? 443 : 80), ...(lookup && { lookup }) })
  const named = isIP(host) === 0 ? { servername: host } : {}
  const socket = isSecure ? connectTls({ socket: tcp, host, ...named, ALPNProtocols: ['http/1.1'] }) : tcp
  // A reset exists on the TCP socket only, below TLS.
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

/** Sends the request body over the wire. */
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
