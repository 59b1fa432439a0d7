import type { ServerResponse } from 'node:http'
import type { Clock, Timer } from '../clock.ts'

export interface StreamOptions {
  readonly wall: Pick<Clock, 'after'>
  /** Called each time the last of those who listened is gone. */
  readonly onSilence?: () => void
}

export interface Subscription<Kind extends string> {
  readonly kinds: ReadonlySet<Kind>
  /** Asked every 15 s: once it is false the stream ends. */
  readonly mayStay: () => boolean
}

/** What happens, told at once to everybody who listens, as Server-Sent Events of some kinds. */
export interface Stream<Kind extends string> {
  /** Tells it to all who subscribed to the kind; `data` is made JSON. Costs nothing where nobody listens. */
  publish(kind: Kind, data: unknown): void
  /** Whether anybody listens to the kind. */
  isHeard(kind: Kind): boolean
  /**
   * Takes over a response, which ends with the connection, by `mayStay`, or where the client does not read. False if there
   * are 100 already, or the stream was closed: nothing was sent.
   */
  subscribe(response: ServerResponse, subscription: Subscription<Kind>): boolean
  /** Ends all; who comes later is refused. Idempotent. */
  close(): void
}

const mostSubscribers = 100
const heartbeatMs = 15_000
/** What may wait for a client to read it. */
const backlogBytes = 1024 * 1024

export function createStream<Kind extends string>({ wall, onSilence }: StreamOptions): Stream<Kind> {
  const subscribers = new Map<ServerResponse, Subscription<Kind>>()
  let heartbeat: Timer | undefined
  let isClosed = false

  function remove(response: ServerResponse): void {
    if (!subscribers.delete(response) || subscribers.size > 0) return
    heartbeat?.cancel()
    heartbeat = undefined
    onSilence?.()
  }

  function write(response: ServerResponse, text: Buffer): void {
    if (response.writableLength + text.length <= backlogBytes) response.write(text)
    else {
      remove(response)
      response.destroy()
    }
  }

  function end(response: ServerResponse): void {
    remove(response)
    response.end()
  }

  function beat(): void {
    heartbeat = wall.after(heartbeatMs, () => {
      for (const [response, { mayStay }] of subscribers) {
        if (mayStay()) write(response, alive)
        else end(response)
      }
      if (subscribers.size > 0) beat()
    })
  }

  return {
    publish(kind, data) {
      if (subscribers.size === 0) return
      const wanted = [...subscribers].filter(([, { kinds }]) => kinds.has(kind))
      if (wanted.length === 0) return
      const text = Buffer.from(`event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`)
      for (const [response] of wanted) write(response, text)
    },
    isHeard: (kind) => subscribers.values().some(({ kinds }) => kinds.has(kind)),
    subscribe(response, subscription) {
      if (isClosed || subscribers.size >= mostSubscribers) return false
      response.writeHead(200, {
        'Content-Type': 'text/event-stream',
        'Cache-Control': 'no-store',
        'X-Content-Type-Options': 'nosniff',
        // What stands in front of it is not to wait for more.
        'X-Accel-Buffering': 'no',
      })
      subscribers.set(response, subscription)
      response.on('close', () => remove(response))
      // The server allows half-closed connections: without this, a client that left would count until the next write.
      response.socket?.once('end', () => response.destroy())
      response.write(alive)
      if (heartbeat === undefined) beat()
      return true
    },
    close() {
      isClosed = true
      for (const response of subscribers.keys()) end(response)
    },
  }
}

/** A comment: nobody is told anything, and whatever stands between knows that the connection is in use. */
const alive = Buffer.from(': alive\n\n')
