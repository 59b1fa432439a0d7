import { once } from 'node:events'
import http, { createServer, type ClientRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { digestOf, type Delivery, type RecordedRequest } from './history.ts'

/** One request that was passed on to one replica, and what came of it. */
export interface PassedRequest extends RecordedRequest {
  readonly port: number
  /** What the replica says became of the event, or why it was refused; null if it says nothing. */
  readonly became: string | null
}

export interface MirroringBalancer extends AsyncDisposable {
  readonly url: string
  /** In the order in which they ended. */
  readonly passed: readonly PassedRequest[]
  /** Breaks off all requests to a port, as one that has found its target dead. */
  cut(port: number): void
  /** Resolves when no request is under way: to this port, or to any. */
  drained(port?: number): Promise<void>
}

interface Answer {
  readonly status: number
  readonly body: string
}

/**
 * An HTTP balancer in front of replicas, which passes each request on to the next of the targets and, at the same time, to the one after
 * it: so each event reaches two replicas at once. The answer is that of the first. `targets` is asked for each request and gives the ports
 * that are up as far as is known; one that takes no connection is passed over, as nothing can have come of it.
 */
export async function startMirroringBalancer(targets: () => readonly number[]): Promise<MirroringBalancer> {
  // As documented: shorter than INBOX_KEEPALIVE_MS, else a request may go out on a connection that the replica is just closing.
  const agent = new http.Agent({ keepAlive: true, timeout: 5_000 })
  const passed: PassedRequest[] = []
  const underWay = new Map<ClientRequest, { readonly port: number; readonly ended: Promise<unknown> }>()
  let turn = 0

  /** Null: it was broken off. Throws ECONNREFUSED. */
  async function send(port: number, delivery: Delivery): Promise<Answer | null> {
    const { id, raw, signature } = delivery
    const startedAt = performance.now()
    const note = (answer: PassedRequest['answer'], became: string | null) => {
      const digest = digestOf(raw)
      passed.push({ op: 'deliver', delivery, id, digest, startedAt, endedAt: performance.now(), answer, port, became })
    }
    const headers = { 'X-Service-Signature': signature, 'Content-Length': raw.length }
    const request = http.request({ host: '127.0.0.1', port, path: '/webhooks', method: 'POST', agent, headers })
    const answering = read(request)
    underWay.set(request, { port, ended: answering.catch(() => {}) })
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
      underWay.delete(request)
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
    cut(port) {
      for (const [request, { port: target }] of underWay) if (target === port) request.destroy()
    },
    async drained(port) {
      const left = () => [...underWay.values()].filter((request) => port === undefined || request.port === port)
      while (left().length > 0) await Promise.all(left().map(({ ended }) => ended))
    },
    async [Symbol.asyncDispose]() {
      for (const request of underWay.keys()) request.destroy()
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
