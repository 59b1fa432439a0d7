import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** A response from the wire. Header names are in lower case; repeated headers have several values. */
export interface RawAnswer {
  readonly status: number
  readonly headers: ReadonlyMap<string, readonly string[]>
  readonly body: Buffer
  /** Unchanged status line and headers. */
  readonly head: string
}

export interface RequestParts {
  readonly method?: string
  readonly target?: string
  /** A list repeats a header. Host, and Content-Length with a body, are added. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: Uint8Array
}

/** The bytes of a request. */
export function requestBytes({ method = 'POST', target = '/webhooks', headers = {}, body }: RequestParts): Buffer {
  const lines = [`${method} ${target} HTTP/1.1`]
  const names = new Set(Object.keys(headers).map((name) => name.toLowerCase()))
  if (!names.has('host')) lines.push('Host: 127.0.0.1')
  if (body !== undefined && !names.has('content-length') && !names.has('transfer-encoding')) {
    lines.push(`Content-Length: ${body.length}`)
  }
  for (const [name, value] of Object.entries(headers)) {
    for (const one of typeof value === 'string' ? [value] : value) lines.push(`${name}: ${one}`)
  }
  return Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), body ?? Buffer.alloc(0)])
}

const answerTimeoutMs = 20_000

/** A TCP connection that sends exact bytes and reads responses one by one. */
export class RawConnection implements Disposable {
  readonly socket: Socket
  #received: Buffer = Buffer.alloc(0)
  #ended = false
  #error: Error | undefined
  #wake = () => {}

  constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, Buffer.from(chunk)])
      this.#wake()
    })
    socket.on('end', () => {
      this.#ended = true
      this.#wake()
    })
    socket.on('error', (error) => {
      this.#error = error
      this.#wake()
    })
    socket.on('close', () => {
      this.#ended = true
      this.#wake()
    })
  }

  /** `allowHalfOpen`: stays open when the server closes its side. */
  static async open(port: number, { allowHalfOpen = false } = {}): Promise<RawConnection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen })
    const connection = new RawConnection(socket)
    await once(socket, 'connect')
    return connection
  }

  send(bytes: Uint8Array | string): void {
    this.socket.write(bytes, 'latin1')
  }

  /** Sends a request and reads its response. Like a sender, repeats it while the receiver is overloaded, unless `isOnce`. */
  async request(parts: RequestParts, { isOnce = false } = {}): Promise<RawAnswer> {
    for (;;) {
      this.send(requestBytes(parts))
      const answer = await this.answer({ isHead: parts.method === 'HEAD' })
      if (isOnce || answer.status !== 503 || !answer.body.includes('"overloaded"')) return answer
      await delay(100)
    }
  }

  /** The next response, including 1xx. Rejects if the connection ends before it is complete. */
  async answer(options: { readonly isHead?: boolean } = {}): Promise<RawAnswer> {
    const deadline = Date.now() + answerTimeoutMs
    for (;;) {
      const taken = takeAnswer(this.#received, this.#ended, options.isHead ?? false)
      if (taken !== null) {
        this.#received = this.#received.subarray(taken.length)
        return taken.answer
      }
      if (this.#error) throw this.#error
      if (this.#ended) throw new Error('the connection ended without a complete answer')
      await this.#news(deadline)
    }
  }

  /** Resolves when the server closed the connection: `end`, or `reset` by an error. */
  async closed(): Promise<'end' | 'reset'> {
    const deadline = Date.now() + answerTimeoutMs
    while (!this.#ended && !this.#error) await this.#news(deadline)
    return this.#error ? 'reset' : 'end'
  }

  /** Received bytes after the last read response. */
  get unread(): Buffer {
    return this.#received
  }

  [Symbol.dispose](): void {
    this.socket.destroy()
  }

  #news(deadline: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error('no answer in time')), deadline - Date.now())
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

/** Sends a request on a new connection. */
export async function rawRequest(port: number, parts: RequestParts): Promise<RawAnswer> {
  using connection = await RawConnection.open(port)
  return await connection.request(parts)
}

/** Value of a header; undefined if it is missing. */
export function headerOf(answer: RawAnswer, name: string): string | undefined {
  return answer.headers.get(name.toLowerCase())?.join(', ')
}

export function jsonOf(answer: RawAnswer): unknown {
  return JSON.parse(answer.body.toString())
}

function takeAnswer(received: Buffer, ended: boolean, isHead: boolean): { answer: RawAnswer; length: number } | null {
  const headEnd = received.indexOf('\r\n\r\n')
  if (headEnd < 0) return null
  const head = received.subarray(0, headEnd).toString('latin1')
  const [statusLine = '', ...lines] = head.split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1])
  const headers = new Map<string, string[]>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    headers.set(name, [...(headers.get(name) ?? []), line.slice(colon + 1).trim()])
  }

  const rest = received.subarray(headEnd + 4)
  const content = takeBody(rest, headers, { ended, hasNone: isHead || status < 200 || status === 204 })
  if (content === null) return null
  return { answer: { status, headers, head, body: content.body }, length: headEnd + 4 + content.length }
}

function takeBody(
  rest: Buffer,
  headers: ReadonlyMap<string, readonly string[]>,
  { ended, hasNone }: { readonly ended: boolean; readonly hasNone: boolean },
): { body: Buffer; length: number } | null {
  const upTo = (length: number) => (rest.length < length ? null : { body: rest.subarray(0, length), length })
  if (hasNone) return upTo(0)
  const length = headers.get('content-length')?.[0]
  if (length !== undefined) return upTo(Number(length))
  // Only Node's own responses are chunked, and they have no body.
  if (headers.has('transfer-encoding')) return rest.length < 5 ? null : { body: rest.subarray(0, 0), length: 5 }
  // Without a length the body ends with the connection.
  return ended ? { body: rest, length: rest.length } : null
}
