import type { ClientRequest } from 'node:http'
import { connect, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Clock, Timer } from '../base/clock.ts'
import type { Wire } from './faults/port.ts'

/** More chunks than that would only show how long they take. */
const mostChunks = 10_000

/** A reset throws away what the receiver has not read yet: it gets a moment to do so. */
const resetAfterMs = 20

type Breaking = 'cut' | 'reset'

/** A connection for one request alone, that is to break in its middle. */
export interface OwnConnection {
  readonly socket: Socket
  breakOff(): void
}

/** Null for a wire that does not break: it shares connections with others. */
export function openOwnConnection(url: URL, { mode }: Wire, lookup?: LookupFunction): OwnConnection | null {
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
export function framingOf(body: Buffer, { mode }: Wire): Readonly<Record<string, string | number>> {
  return mode === 'chunked' ? { 'Transfer-Encoding': 'chunked' } : { 'Content-Length': body.length }
}

export interface SendOptions {
  readonly wire: Wire
  readonly wall: Clock
  /** Ends or resets the connection. */
  readonly breakOff: () => void
}

/** Sends the body of a request, framed as `framingOf` says, over the wire. */
export function sendBody(request: ClientRequest, body: Buffer, { wire, wall, breakOff }: SendOptions): void {
  switch (wire.mode) {
    case 'whole':
      request.end(body)
      return
    case 'chunked':
      for (const piece of piecesOf(body, Math.max(wire.chunkBytes, Math.ceil(body.length / mostChunks)))) {
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
