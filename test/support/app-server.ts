import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { until } from './until.ts'

export interface AppRequest {
  readonly method: string
  readonly path: string
  readonly headers: http.IncomingHttpHeaders
  readonly body: Buffer
}

export type AppAnswer = {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Writes its body until the connection is closed. */
  readonly endless?: true
}

/** A server that records requests and returns configured answers. */
export class AppServer implements AsyncDisposable {
  readonly requests: AppRequest[] = []
  /** Creates the answer to a request; null: none. */
  answer: (request: AppRequest) => AppAnswer | null | Promise<AppAnswer | null> = () => ({ status: 200 })
  readonly #server: http.Server

  private constructor(server: http.Server) {
    this.#server = server
  }

  static async start(): Promise<AppServer> {
    const server = http.createServer()
    const app = new AppServer(server)
    server.on('request', (request, response) => void app.#handle(request, response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return app
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/app?token=of-the-app`
  }

  /** Waits for `count` requests. */
  async received(count: number): Promise<readonly AppRequest[]> {
    await until(() => this.requests.length >= count, `the app got ${count} requests`)
    return this.requests
  }

  async #handle(message: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    try {
      for await (const chunk of message) chunks.push(chunk as Buffer)
    } catch {
      // The sender has gone.
      return
    }
    const { method = '', url = '', headers } = message
    const request = { method, path: url, headers, body: Buffer.concat(chunks) }
    this.requests.push(request)
    const answer = await this.answer(request)
    if (answer === null) return
    response.writeHead(answer.status, answer.headers)
    if (answer.endless) Readable.from(endlessBytes()).pipe(response)
    else response.end(answer.body)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

function* endlessBytes(): Generator<Buffer> {
  for (;;) yield Buffer.alloc(1_024, 'x')
}
