import type { SinkContext, SinkDefinition, SinkItem } from '../../src/dispatch/define-sink.ts'
import { toHandlerEvent } from '../../src/dispatch/context.ts'
import type { AnyEvent } from '../../schema/index.ts'
import { AppServer, type AppAnswer } from './app-server.ts'
import { parseBody, type Rules, type Verdict } from './fake-chat-rules.ts'
import { recordingLog } from './recording-log.ts'

type Accepted = Extract<Verdict, { readonly shown: string }>

/** A service for people on loopback: it takes what the real one would take, and answers as that would. */
export class FakeChat implements AsyncDisposable {
  readonly accepted: Accepted[] = []
  readonly refused: string[] = []
  /** Answers that it gives next, whatever comes. `429` with seconds; else a status. */
  readonly next: ({ readonly tooMany: number } | AppAnswer)[] = []
  /** Messages that it does not like although nothing is wrong with them. */
  dislikes: (verdict: Accepted) => boolean = () => false
  /** Headers of each success. */
  headers: Readonly<Record<string, string>> = {}
  readonly server: AppServer
  readonly #rules: Rules

  private constructor(server: AppServer, rules: Rules) {
    this.server = server
    this.#rules = rules
    server.answer = (request) => {
      const planned = this.next.shift()
      if (planned !== undefined && 'tooMany' in planned) return { status: 429, ...rules.tooMany(planned.tooMany) }
      if (planned !== undefined) return planned
      const path = new URL(request.path, this.origin).pathname
      if (!path.startsWith(rules.path)) return { status: 404, body: `no such path: ${path}` }
      const body = parseBody(request)
      return this.#judge(body === undefined ? { refused: 'no JSON' } : rules.read(body))
    }
  }

  static async start(rules: Rules): Promise<FakeChat> {
    return new FakeChat(await AppServer.start(), rules)
  }

  get origin(): string {
    return `http://127.0.0.1:${this.server.port}`
  }

  get url(): string {
    return `${this.origin}${this.#rules.path}`
  }

  get shown(): readonly string[] {
    return this.accepted.map(({ shown }) => shown)
  }

  #judge(verdict: Verdict): AppAnswer {
    const refused = 'refused' in verdict ? verdict.refused : this.dislikes(verdict) ? 'disliked' : undefined
    if (refused !== undefined) this.refused.push(refused)
    if (refused !== undefined || 'refused' in verdict) return { status: 400, body: this.#rules.refusal(refused ?? '') }
    this.accepted.push(verdict)
    return { ...this.#rules.success, headers: this.headers }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]()
  }
}

/** Items for a sink, with ids in their order. */
export function items(...given: readonly (AnyEvent | { readonly payload: unknown })[]): SinkItem[] {
  return given.map((one, index) => {
    const id = String(index + 1)
    const isPayload = 'payload' in one
    const event = isPayload ? { id: 'evt_p', type: 'x', created_at: '2026-01-31T14:03:22Z', data: {} } : one
    const raw = Buffer.from(JSON.stringify(event))
    const stored = { seq: 1, id: event.id, type: event.type, createdAt: event.created_at, receivedAt: 0 }
    return {
      id,
      key: null,
      payload: isPayload ? one.payload : undefined,
      event: toHandlerEvent({ ...stored, key: event.id, secretLabel: 'main', raw }),
      secretLabel: 'main',
      attempt: 1,
      idempotencyKey: `sink:${event.id}:${id}`,
      traceparent: null,
    }
  })
}

/** Sends by hand, under a clock that stands still but for the sink's own sleeps. */
export function sendingStage() {
  const { log, lines } = recordingLog()
  const pauses: number[] = []
  const sleeps: number[] = []
  const abort = new AbortController()
  let now = 0
  const ctx = { signal: abort.signal, log, pause: (ms: number) => void pauses.push(ms) } as SinkContext
  return {
    pauses,
    sleeps,
    lines,
    abort,
    pass: (ms: number) => void (now += ms),
    timing: {
      now: () => now,
      async sleep(ms: number) {
        sleeps.push(ms)
        now += ms
      },
    },
    /** What it throws, or undefined. */
    async send(sink: Pick<SinkDefinition, 'send'>, batch: readonly SinkItem[]): Promise<unknown> {
      try {
        await sink.send(batch, ctx)
        return undefined
      } catch (error) {
        return error
      }
    },
  }
}
