import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Pages } from '../../src/base/http/page-files.ts'

/** What a request is answered with. */
export interface FakeAnswer {
  readonly status: number
  /** JSON, or bytes as they are. */
  readonly body: unknown
}

/** An answer, or what makes one of the query of a request. */
export type FakeAnswerOf = FakeAnswer | ((query: URLSearchParams) => FakeAnswer)

/** A server of a built page, with answers that are always the same in place of those of the API that the page asks. */
export interface FakeApiServer extends AsyncDisposable {
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

export interface FakeApiServerOptions {
  /** They have all that is not of the API. */
  readonly pages: Pages
  /** What the paths of the API begin with, as `/api/v1`; calls are told without it. */
  readonly prefix: string
  /** The first answers, by their calls. */
  readonly answers: Iterable<readonly [call: string, answer: FakeAnswerOf]>
  /** How the API says that there is nothing at a path. */
  readonly notFound: (message: string) => FakeAnswer
}

/** Starts one on a free port of loopback. Its stream has reconnecting browsers come back within 10 ms. */
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
