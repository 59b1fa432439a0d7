import type { ServerResponse } from 'node:http'
import type { Clock, Timer } from '../clock.ts'

export interface StreamOptions {
  readonly wall: Pick<Clock, 'after'>
  /** Called each time the last subscriber has left. */
  readonly onLastLeft?: () => void
}

export interface Subscription<Kind extends string> {
  readonly kinds: ReadonlySet<Kind>
  /** Called every 15 s. The stream ends once it returns false. */
  readonly mayStay: () => boolean
}

/** Maximum open streams, because each holds a connection. */
const maxSubscribers = 100
const heartbeatMs = 15_000
/** Maximum unread bytes per client. */
const backlogBytes = 1024 * 1024

export type Stream<Kind extends string> = ReturnType<typeof createStream<Kind>>

/** Server-Sent Events. Each subscriber gets the kinds of events that it chose. */
export function createStream<Kind extends string>({ wall, onLastLeft }: StreamOptions) {
  const subscribers = new Map<ServerResponse, Subscription<Kind>>()
  let heartbeat: Timer | undefined
  let isClosed = false

  function remove(response: ServerResponse): void {
    if (!subscribers.delete(response) || subscribers.size > 0) return
    heartbeat?.cancel()
    heartbeat = undefined
    onLastLeft?.()
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
    /** Sends `data` as JSON to all subscribers of the kind. Costs nothing without subscribers. */
    publish(kind: Kind, data: unknown): void {
      if (subscribers.size === 0) return
      const receivers = [...subscribers].filter(([, { kinds }]) => kinds.has(kind))
      if (receivers.length === 0) return
      const text = Buffer.from(`event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`)
      for (const [response] of receivers) write(response, text)
    },
    /** True if the kind has subscribers. */
    hasSubscribers: (kind: Kind): boolean => subscribers.values().some(({ kinds }) => kinds.has(kind)),
    /**
     * Takes over a response. The stream ends with the connection, when `mayStay` returns false, or when the client
     * doesn't read. Returns false, without sending anything, if there are 100 subscribers or the stream was closed.
     */
    subscribe(response: ServerResponse, subscription: Subscription<Kind>): boolean {
      if (isClosed || subscribers.size >= maxSubscribers) return false
      response.writeHead(200, {
        'Content-Type': 'text/event-stream',
        'Cache-Control': 'no-store',
        'X-Content-Type-Options': 'nosniff',
        // Keeps proxies from buffering.
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
    /** Ends all streams and rejects new subscribers. Idempotent. */
    close(): void {
      isClosed = true
      for (const response of subscribers.keys()) end(response)
    },
  }
}

/** An SSE comment: invisible to the client's code, and keeps the connection alive. */
const alive = Buffer.from(': alive\n\n')
