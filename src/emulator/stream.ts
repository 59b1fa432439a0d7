import type { ServerResponse } from 'node:http'
import type { Clock, Timer } from '../clock.ts'

/** What goes by the stream: events as they arise, attempts of deliveries, changes of the clock. */
export const streamKinds = ['event', 'attempt', 'clock'] as const
export type StreamKind = (typeof streamKinds)[number]

export interface StreamOptions {
  readonly wall: Pick<Clock, 'after'>
}

export interface Subscription {
  readonly kinds: ReadonlySet<StreamKind>
  /** Asked every 15 s: once it is false the stream ends. */
  readonly mayStay: () => boolean
}

/** What happens, told at once to everybody who listens, as Server-Sent Events. */
export interface Stream {
  /** Tells it to all who subscribed to the kind; `data` is made JSON. Costs nothing where nobody listens. */
  publish(kind: StreamKind, data: unknown): void
  /**
   * Takes over a response, which ends with the connection, by `mayStay`, or where the client does not read. False if there
   * are 100 already: nothing was sent.
   */
  subscribe(response: ServerResponse, subscription: Subscription): boolean
  /** Ends all; who comes later is refused. Idempotent. */
  close(): void
}

const mostSubscribers = 100
const heartbeatMs = 15_000
/** What may wait for a client to read it. */
const backlogBytes = 1024 * 1024

export function createStream({ wall }: StreamOptions): Stream {
  const subscribers = new Map<ServerResponse, Subscription>()
  let heartbeat: Timer | undefined
  let isClosed = false

  function remove(response: ServerResponse): void {
    subscribers.delete(response)
    if (subscribers.size > 0) return
    heartbeat?.cancel()
    heartbeat = undefined
  }

  function write(response: ServerResponse, text: Buffer): void {
    if (response.writableLength + text.length <= backlogBytes) response.write(text)
    else {
      remove(response)
      response.destroy()
    }
  }

  function beat(): void {
    heartbeat = wall.after(heartbeatMs, () => {
      for (const [response, { mayStay }] of subscribers) {
        if (mayStay()) write(response, alive)
        else {
          remove(response)
          response.end()
        }
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
      response.write(alive)
      if (heartbeat === undefined) beat()
      return true
    },
    close() {
      isClosed = true
      for (const response of subscribers.keys()) response.end()
      subscribers.clear()
      heartbeat?.cancel()
    },
  }
}

/** A comment: nobody is told anything, and whatever stands between knows that the connection is in use. */
const alive = Buffer.from(': alive\n\n')
