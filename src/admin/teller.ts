import type { Clock, Timer } from '../clock.ts'
import type { Stream } from '../sse.ts'
import type { StreamKind } from './answers/stream.ts'

/** Looks at something again, and gives what is to be told of it; null where nothing changed since it was asked the last time. */
export type Watch = () => Promise<object | null>

export interface TellerOptions {
  readonly stream: Pick<Stream<StreamKind>, 'publish' | 'isHeard'>
  /** Begins to look at a kind: the first answer says how things are, and so what is new is what came after it. */
  readonly watches: Readonly<Record<StreamKind, () => Watch>>
  readonly clock: Pick<Clock, 'after'>
}

/** Tells what changed to those who listen, at most once a second of each kind. Where nobody listens nothing is asked. */
export interface Teller {
  /** Somebody is about to listen to these kinds. */
  listen(kinds: Iterable<StreamKind>): void
  /** The last one is gone. Idempotent. */
  rest(): void
}

const beatMs = 1_000

interface Watched {
  readonly watch: Watch
  isAsking: boolean
}

export function createTeller({ stream, watches, clock }: TellerOptions): Teller {
  const watched = new Map<StreamKind, Watched>()
  let timer: Timer | undefined

  /** Skipped while the answer before is not there. */
  async function ask(kind: StreamKind, current: Watched): Promise<void> {
    if (current.isAsking) return
    current.isAsking = true
    try {
      const told = await current.watch()
      if (told !== null && watched.get(kind) === current) stream.publish(kind, told)
    } catch {
      // A store that cannot be read says so in the log by itself; whoever listens is told once it can be.
    } finally {
      current.isAsking = false
    }
  }

  function beat(): void {
    timer = clock.after(beatMs, () => {
      beat()
      for (const [kind, current] of watched) {
        if (stream.isHeard(kind)) void ask(kind, current)
        else watched.delete(kind)
      }
    })
  }

  return {
    listen(kinds) {
      for (const kind of kinds) {
        if (watched.has(kind)) continue
        const current = { watch: watches[kind](), isAsking: false }
        watched.set(kind, current)
        void ask(kind, current)
      }
      if (timer === undefined) beat()
    },
    rest() {
      timer?.cancel()
      timer = undefined
      watched.clear()
    },
  }
}
