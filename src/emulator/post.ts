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
/** How long the receiver has to answer (R80, R115). */
const acknowledgementTimeoutMs = 5000

/** What became of one POST. `status` is null when none came in time. */
export interface PostResult {
  readonly isAcknowledged: boolean
  readonly status: number | null
  /** Why it failed, for people; null when acknowledged. */
  readonly failure: string | null
  /** To the status line, or to the failure. */
  readonly latencyMs: number
  /** As they came, names in lower case, several values of one name in one text; none without an answer. */
  readonly responseHeaders: Readonly<Record<string, string>>
  /** The beginning of the answer's body, safe to be shown, of at most 1,024 characters. */
  readonly responseExcerpt: string
}

/** Values by name; several of one name are sent in a header each, none in none. */
type PostHeaders = Readonly<Record<string, string | readonly string[]>>

interface PostOptions {
  /** Default: whole. */
  readonly wire?: Wire
  /** Whether it may go to public addresses only. Default: anywhere. */
  readonly isPublicOnly?: boolean
  /** Called when it is known what became of it, up to 50 ms before the result, which waits for the beginning of the answer's body. */
  readonly onOutcome?: () => void
}

export interface Poster {
  /** Sends one body. Never rejects: whatever goes wrong is a result. */
  post(url: URL, body: Buffer, headers: PostHeaders, how?: PostOptions): Promise<PostResult>
  /** Cuts every connection; posts under way end as failed. */
  close(): void
}

/**
 * Posts over kept-alive connections, those that are to break over one of their own. Acknowledged = a 2xx status within 5.000 s
 * of the start of the attempt, name look-up and TLS included, measured on `wall`. The body of the answer is not awaited, a
 * redirect is not followed (A43); the result comes at most 50 ms after the status line, with what the body began with.
 */
export function createPoster(wall: Clock): Poster {
  // A connection that was made for one is not used for the other.
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
        // Only what is told first counts.
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

/** Where an endpoint is. Throws `usage`, without the URL, for one that is not http or has a user name or password. */
export function toTarget(url: string): URL {
  const target = URL.parse(url)
  const isUsable = target !== null && /^https?:$/.test(target.protocol) && target.username + target.password === ''
  if (isUsable) return target
  throw new InboxError('usage', 'webhook URL: expected http:// or https://, without user name and password')
}

/** What belongs to this machine or its network: nobody outside may have requests sent there. */
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

/** Whether a URL names an address, not a name, and it is not a public one. */
function namesPrivateAddress({ hostname }: URL): boolean {
  const host = withoutBrackets(hostname)
  return isIP(host) !== 0 && isPrivate(host)
}

const notPublic = 'the address is not a public one: who is outside may register public URLs only'

/** Finds the addresses of a name for a connection; fails if one of them is not a public one, whatever the name was before. */
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
/** How long the beginning of the body is waited for. */
const excerptMs = 50
/** What of a body is read so that the connection may be used again; one that is larger or slower costs its connection. */
const [maxDrainedBytes, maxDrainMs] = [65_536, 1_000]

/**
 * Reads the answer to a request. Calls `onExcerpt` once, with the beginning of its body as safe text: when there is enough of
 * it, when it ends, or 50 ms of wall time later. A body that breaks off changes nothing; one that never ends is cut off.
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
    // What is still to be sent is of no use to a receiver that has answered.
    if (!request.writableFinished) request.destroy()
  })
  response.on('error', () => request.destroy())
  response.on('close', () => reportExcerpt?.())
  request.on('close', () => {
    end.cancel()
    reportExcerpt?.()
  })
}

/** A character that was cut in two is left out. */
function toExcerpt(bytes: Buffer): string {
  if (bytes.length === 0) return ''
  const text = new TextDecoder().decode(bytes, { stream: true })
  return safeText(text, excerptBytes - 1)
}

/** More chunks than that would only show how long they take. */
const maxChunks = 10_000

/** A reset throws away what the receiver has not read yet: it gets a moment to do so. */
const resetAfterMs = 20

type Breaking = 'cut' | 'reset'

/** A connection for one request alone, that is to break in its middle. */
export interface OwnConnection {
  readonly socket: Socket
  breakOff(): void
}

/** Null for a wire that does not break: it shares connections with others. */
function openOwnConnection(url: URL, { mode }: Wire, lookup?: LookupFunction): OwnConnection | null {
  return mode === 'cut' || mode === 'reset' ? connectTo(url, mode, lookup) : null
}

function connectTo(url: URL, mode: Breaking, lookup: LookupFunction | undefined): OwnConnection {
  const isSecure = url.protocol === 'https:'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const tcp = connect({ host, port: Number(url.port) || (isSecure ? 443 : 80), ...(lookup && { lookup }) })
  const named = isIP(host) === 0 ? { servername: host } : {}
  const socket = isSecure ? connectTls({ socket: tcp, host, ...named, ALPNProtocols: ['http/1.1'] }) : tcp
  // A reset is below TLS: above it there is none.
  return { socket, breakOff: () => (mode === 'cut' ? socket.end() : tcp.resetAndDestroy()) }
}

/** The headers that frame a body. */
function framingOf(body: Buffer, { mode }: Wire): Readonly<Record<string, string | number>> {
  return mode === 'chunked' ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': body.length }
}

export interface SendOptions {
  readonly wire: Wire
  readonly wall: Clock
  /** Ends or resets the connection. */
  readonly breakOff: () => void
}

/** Sends the body of a request, framed as `framingOf` says, over the wire. */
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
