import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Pages } from '../../src/base/http/page-files.ts'

export interface FakeAnswer {
  readonly status: number
  /** Bytes, or a JSON value. */
  readonly body: unknown
}

/** An answer, or a function of the query. */
export type FakeAnswerOf = FakeAnswer | ((query: URLSearchParams) => FakeAnswer)

/** Serves a built page and constant answers of its API. */
export interface FakeApiServer extends AsyncDisposable {
  readonly url: string
  /** Requests other than GET: `POST /events/evt_1/replay` with its body. */
  readonly asked: readonly { readonly call: string; readonly body: unknown }[]
  /** GET requests with their query: `/events?type=pump.graduation`. */
  readonly read: readonly string[]
  /**
   * Sets the answer of a call such as `GET /events`, for any query. The path is encoded. `GET /stream` may have an answer;
   * null makes it a stream again.
   */
  answer(call: string, answer: FakeAnswerOf | null): void
  /** Number of open streams. */
  readonly listeners: number
  /** Sends an event to all streams. */
  publish(kind: string, data: unknown): void
  /** Ends all streams; browsers reconnect at once. */
  breakStreams(): void
}

export interface FakeApiServerOptions {
  readonly pages: Pages
  /** Prefix of the API, such as `/api/v1`. */
  readonly prefix: string
  /** Initial answers by call. */
  readonly answers: Iterable<readonly [call: string, answer: FakeAnswerOf]>
  /** Answer for unknown paths. */
  readonly notFound: (message: string) => FakeAnswer
}

/** Starts on a free port. Browsers reconnect to its stream after 10 ms. */
export async function startFakeApiServer(options: FakeApiServerOptions): Promise<FakeApiServer> {
  const { pages, prefix, notFound } = options
  const answers = new Map(options.answers)
  const asked: { call: string; body: unknown }[] = []
  const read: string[] = []
  const listeners = new Set<ServerResponse>()

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (pages.isFor(request)) return pages.handle(request, response)
    const { pathname, search, searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const path = pathname.slice(prefix.length)
    const call = `${request.method} ${path}`
    if (path === '/stream' && !answers.has(call)) return openStream(response)
    if (request.method === 'GET') read.push(path + search)
    else asked.push({ call, body: await readJson(request) })
    const found = answers.get(call) ?? notFound(`there is no ${call}`)
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

function send(response: ServerResponse, { status, body }: FakeAnswer): void {
  const isBytes = body instanceof Uint8Array
  response.writeHead(status, { 'Content-Type': isBytes ? 'application/octet-stream' : 'application/json' })
  response.end(isBytes ? body : JSON.stringify(body))
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  return text === '' ? null : JSON.parse(text)
}
