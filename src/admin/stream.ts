import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import type { Clock } from '../clock.ts'
import { InboxError } from '../errors.ts'
import { createStream } from '../sse.ts'
import { streamKinds, type StreamKind } from './answers/stream.ts'
import { createTeller, type Watch } from './teller.ts'

const isKind = (name: string): name is StreamKind => streamKinds.some((kind) => kind === name)

/** `GET stream`. */
export const streamParameters = z.strictObject({
  kinds: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.string().refine(isKind)))
    .transform((names) => new Set(names.filter(isKind)))
    .prefault(streamKinds.join())
    .describe(`some of ${streamKinds.join(',')}`),
})

export interface LiveStreamOptions {
  /** What is told of each kind, see `createTeller`. */
  readonly watches: Readonly<Record<StreamKind, () => Watch>>
  readonly clock: Pick<Clock, 'after'>
}

/** What happens, told to those who listen, as Server-Sent Events. */
export interface LiveStream {
  /**
   * Takes over a response. `mayStay` is asked every 15 s: once it is false the stream ends.
   *
   * @throws InboxError `overloaded` if as many listen as can, `shutting_down` once it was closed
   */
  take(request: IncomingMessage, response: ServerResponse, kinds: ReadonlySet<StreamKind>, mayStay: () => boolean): void
  /** Ends all. Idempotent. */
  close(): void
}

export function createLiveStream({ watches, clock }: LiveStreamOptions): LiveStream {
  let isClosed = false
  const stream = createStream<StreamKind>({ wall: clock, onSilence: () => teller.rest() })
  const teller = createTeller({ stream, watches, clock })

  return {
    take(request, response, kinds, mayStay) {
      // Asked for the headers alone, there is nothing to wait for.
      if (request.method === 'HEAD') response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end()
      else if (stream.subscribe(response, { kinds, mayStay })) teller.listen(kinds)
      else if (isClosed) throw new InboxError('shutting_down', 'this instance is shutting down')
      else {
        const message =
          'as many listen to the stream as can at once: close another page of the console, or try again later'
        throw new InboxError('overloaded', message)
      }
    },
    close() {
      isClosed = true
      stream.close()
    },
  }
}
