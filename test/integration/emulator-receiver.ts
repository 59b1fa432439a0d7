import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

interface ReceivedRequest {
  readonly method: string | undefined
  readonly path: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

export type TestReceiver = Awaited<ReturnType<typeof createTestReceiver>>

export type Answer = (response: ServerResponse, request: ReceivedRequest, index: number) => void

/** Answers with a status and an empty body. */
export function answerStatus(status: number, headers: Record<string, string> = {}): Answer {
  return (response) => response.writeHead(status, headers).end()
}

/** An HTTP server on a free loopback port that records its requests. */
export async function createTestReceiver(answer: Answer) {
  const requests: ReceivedRequest[] = []
  const waiters = new Set<{ count: number; resolve: () => void }>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method, url: path, headers } = request
      const received = { method, path, headers, body: Buffer.concat(chunks) }
      requests.push(received)
      answer(response, received, requests.length - 1)
      for (const waiter of waiters) if (requests.length >= waiter.count) waiter.resolve()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`,
    requests: requests as readonly ReceivedRequest[],
    /** Resolves after `count` requests in all. */
    received: (count: number) =>
      new Promise<void>((resolve) => {
        waiters.add({ count, resolve })
        if (requests.length >= count) resolve()
      }),
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
