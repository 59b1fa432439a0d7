import { once } from 'node:events'
import http, { createServer, type ClientRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { sign } from '../../src/signature/sign.ts'
import { testSecret } from './app.ts'
import { digestOf, type Delivery, type RecordedRequest } from './history.ts'

/** A request that was passed to one replica, and its result. */
export interface PassedRequest extends RecordedRequest {
  readonly port: number
  /** Status or error code in the response; null without response. */
  readonly became: string | null
}

interface Answer {
  readonly status: number
  readonly body: string
}

/**
 * An HTTP balancer that passes each request to the next target and, at the same time, to the one after it, so that each event reaches two
 * replicas at once. Returns the first response. `targets`: returns the ports of healthy targets. Skips a target that refuses the connection.
 */
export async function startMirroringBalancer(targets: () => readonly number[]) {
  // Shorter than INBOX_KEEPALIVE_MS, as documented. Otherwise a replica may close a connection while a request is sent on it.
  const agent = new http.Agent({ keepAlive: true, timeout: 5_000 })
  /** Completed requests, in the order of completion. */
  const passed: PassedRequest[] = []
  const inFlight = new Map<ClientRequest, { readonly port: number; readonly ended: Promise<unknown> }>()
  let turn = 0

  /** Returns null for a broken connection. Throws ECONNREFUSED. */
  async function send(port: number, delivery: Delivery): Promise<Answer | null> {
    const { id, raw, signature } = delivery
    const startedAt = performance.now()
    const note = (answer: PassedRequest['answer'], became: string | null) => {
      const digest = digestOf(raw)
      const op = signature === sign(raw, testSecret) ? 'deliver' : 'forge'
      passed.push({ op, delivery, id, digest, startedAt, endedAt: performance.now(), answer, port, became })
    }
    const headers = { 'X-Service-Signature': signature, 'Content-Length': raw.length }
    const request = http.request({ host: '127.0.0.1', port, path: '/webhooks', method: 'POST', agent, headers })
    const answering = read(request)
    inFlight.set(request, { port, ended: answering.catch(() => {}) })
    request.end(raw)
    try {
      const answer = await answering
      const { status, error } = JSON.parse(answer.body) as { status?: string; error?: { code: string } }
      note(answer.status, status ?? error?.code ?? null)
      return answer
    } catch (error) {
      if (isRefused(error)) throw error
      note('reset', null)
      return null
    } finally {
      inFlight.delete(request)
    }
  }

  async function sendToFirst([port, ...others]: readonly number[], delivery: Delivery): Promise<Answer | null> {
    if (port === undefined) return null
    return send(port, delivery).catch((error: unknown) => {
      if (!isRefused(error)) throw error
      return sendToFirst(others, delivery)
    })
  }

  const listener = createServer((request, response) => {
    void (async () => {
      const delivery = await receive(request)
      const all = targets()
      const first = turn++ % Math.max(1, all.length)
      const turned = [...all.slice(first), ...all.slice(0, first)]
      const [, second] = turned
      if (second !== undefined) void send(second, delivery).catch(() => {})
      const answer = await sendToFirst(turned, delivery)
      if (answer === null) return void response.destroy()
      response.writeHead(answer.status, { 'Content-Type': 'application/json' }).end(answer.body)
    })().catch(() => response.destroy())
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}/webhooks`,
    passed,
    /** Ends all requests to a port, like a balancer whose health check fails. */
    cut(port: number) {
      for (const [request, { port: target }] of inFlight) if (target === port) request.destroy()
    },
    /** Resolves when no request is in flight: to this port, or to any. */
    async drained(port?: number) {
      const left = () => [...inFlight.values()].filter((request) => port === undefined || request.port === port)
      while (left().length > 0) await Promise.all(left().map(({ ended }) => ended))
    },
    async [Symbol.asyncDispose]() {
      for (const request of inFlight.keys()) request.destroy()
      agent.destroy()
      listener.closeAllConnections()
      listener.close()
      await once(listener, 'close')
    },
  }
}

async function receive(request: IncomingMessage): Promise<Delivery> {
  const raw = await buffer(request)
  const { id } = JSON.parse(raw.toString()) as { readonly id: string }
  return { id, key: null, raw, signature: String(request.headers['x-service-signature']) }
}

function read(request: ClientRequest): Promise<Answer> {
  return new Promise((resolve, reject) => {
    request.on('error', reject)
    request.on('response', (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject)
    })
  })
}

function isRefused(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED'
}
