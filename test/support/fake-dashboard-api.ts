import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createPages } from '../../src/emulator/pages.ts'
import { sampleAnswers } from './dashboard-samples.ts'

/** What a request is answered with. */
export interface FakeAnswer {
  readonly status: number
  /** `data` of a success; else code and message of an error. */
  readonly data?: unknown
  readonly error?: { readonly code: string; readonly message: string }
}

export interface FakeApi extends AsyncDisposable {
  readonly url: string
  /** What was asked beside GET, in order: `POST /keys`, with its body. */
  readonly asked: readonly { readonly call: string; readonly body: unknown }[]
  /** From now on a call such as `POST /keys` is answered so. */
  answer(call: string, answer: FakeAnswer): void
  /** Sends an event to every listener of the stream. */
  publish(kind: string, data: unknown): void
  /** Ends every stream; browsers come back at once. */
  breakStreams(): void
}

const prefix = '/_emulator'

/**
 * Serves the built page as the emulator does, and in place of the control routes answers that are always the same: for texts
 * and errors that a true emulator does not bring forth. Everybody is signed in from the start.
 */
export async function startFakeApi(folder: string): Promise<FakeApi> {
  const pages = await createPages(folder)
  const asked: { call: string; body: unknown }[] = []
  const answers = new Map<string, FakeAnswer>(
    Object.entries(sampleAnswers).map(([path, data]) => [`GET ${path}`, { status: 200, data }]),
  )
  answers.set('GET /session', { status: 200, data: { signedIn: true, user: 'demo', demo: null } })
  const listeners = new Set<ServerResponse>()

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (pages.isFor(request)) return pages.handle(request, response)
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    const path = pathname.slice(prefix.length)
    if (path === '/stream') return openStream(response)
    const call = `${request.method} ${path}`
    if (request.method !== 'GET') asked.push({ call, body: await readJson(request) })
    const notFound = { status: 404, error: { code: 'not_found', message: `there is no ${call}` } }
    const { status, ...answer } = answers.get(call) ?? notFound
    response.writeHead(status, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify({ success: status < 400, ...answer }))
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
    answer: (call, answer) => void answers.set(call, answer),
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

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  const text = Buffer.concat(chunks).toString()
  return text === '' ? null : JSON.parse(text)
}
