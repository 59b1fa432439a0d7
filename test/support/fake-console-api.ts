import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createConsolePages } from '../../src/admin/pages.ts'
import { body, idOf, samples as samplesA } from './console-samples/a.ts'
import { samples as samplesB } from './console-samples/b.ts'
import { samples as samplesC } from './console-samples/c.ts'

/** What a request is answered with. */
export interface FakeAnswer {
  readonly status: number
  /** JSON, or bytes as they are. */
  readonly body: unknown
}

/** An answer, or what makes one of the query of a request. */
export type FakeAnswerOf = FakeAnswer | ((query: URLSearchParams) => FakeAnswer)

export interface FakeApi extends AsyncDisposable {
  readonly url: string
  /** What was asked beside GET, in order: `POST /events/evt_1/replay`, with its body. */
  readonly asked: readonly { readonly call: string; readonly body: unknown }[]
  /** What was asked by GET, in order, with the query: `/events?type=pump.graduation`. */
  readonly read: readonly string[]
  /**
   * From now on a call such as `GET /events` is answered so, whatever its query is. A path is as it is in the address: parts that
   * need it are encoded. `GET /stream` may be one of them; null: it is a stream again.
   */
  answer(call: string, answer: FakeAnswerOf | null): void
  /** How many listen to the stream. */
  readonly listeners: number
  /** Sends an event to every listener of the stream. */
  publish(kind: string, data: unknown): void
  /** Ends every stream; browsers come back at once. */
  breakStreams(): void
}

const prefix = '/api/v1'

/** A success. */
export const ok = (data: unknown): FakeAnswer => ({ status: 200, body: data })

/** An error as the admin API says it. */
export const failed = (status: number, code: string, message: string): FakeAnswer => ({
  status,
  body: { error: { code, message } },
})

/**
 * Serves the built console as the admin port does, and in place of the admin API answers that are always the same: for texts and
 * errors that a true inbox does not bring forth. The operator is signed in from the start.
 */
export async function startFakeApi(folder: string): Promise<FakeApi> {
  const pages = await createConsolePages(folder)
  const asked: { call: string; body: unknown }[] = []
  const read: string[] = []
  const answers = new Map<string, FakeAnswerOf>(
    Object.entries({ ...samplesA, ...samplesB, ...samplesC }).map(([path, data]) => [`GET ${path}`, ok(data)]),
  )
  answers.set(`GET /events/${idOf(7)}/raw`, ok(Buffer.from(body)))
  const listeners = new Set<ServerResponse>()

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (pages.isFor(request)) return pages.handle(request, response)
    const { pathname, search, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const path = pathname.slice(prefix.length)
    const call = `${request.method} ${path}`
    if (path === '/stream' && !answers.has(call)) return openStream(response)
    if (request.method === 'GET') read.push(path + search)
    else asked.push({ call, body: await readJson(request) })
    const found = answers.get(call) ?? failed(404, 'not_found', `there is no ${call}`)
    send(response, typeof found === 'function' ? found(searchParams) : found)
  }

  function openStream(response: ServerResponse): void {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' })
    response.write('retry: 10\n\n')
    listeners.add(response)
    response.on('close', () => listeners.delete(response))
  }

  const server = createServer((request, response) => void handle(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    read,
    answer(call, answer) {
      if (answer === null) answers.delete(call)
      else answers.set(call, answer)
    },
    get listeners() {
      return listeners.size
    },
    publish(kind, data) {
      for (const listener of listeners) listener.write(`event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`)
    },
    breakStreams() {
      for (const listener of listeners) listener.end()
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function send(response: ServerResponse, { status, body: answer }: FakeAnswer): void {
  const isBytes = answer instanceof Uint8Array
  response.writeHead(status, { 'Content-Type': isBytes ? 'application/octet-stream' : 'application/json' })
  response.end(isBytes ? answer : JSON.stringify(answer))
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  return text === '' ? null : JSON.parse(text)
}
