import type { z } from 'zod'
import discordKind from '../../handlers/sinks/discord.ts'
import pagerdutyKind from '../../handlers/sinks/pagerduty.ts'
import slackKind from '../../handlers/sinks/slack.ts'
import telegramKind from '../../handlers/sinks/telegram.ts'
import type { Timing } from '../../handlers/sinks/common/chat.ts'
import type { AnyEvent } from '../../schema/index.ts'
import type { SinkDefinition, SinkItem } from '../../src/dispatch/define-sink.ts'
import { AppServer, type AppAnswer } from './app-server.ts'
import {
  botToken,
  discordRules,
  pagerdutyRules,
  parseBody,
  routingKey,
  slackRules,
  telegramRules,
  type Rules,
  type Verdict,
} from './fake-chat-rules.ts'
import { anItem, aSinkContext } from './sink-items.ts'

type Accepted = Extract<Verdict, { readonly shown: string }>

/** A fake chat or alerting service with the rules of the real one. */
export class FakeChat implements AsyncDisposable {
  readonly accepted: Accepted[] = []
  readonly rejected: string[] = []
  /** Next answers. `tooMany`: a 429 with seconds. */
  readonly next: ({ readonly tooMany: number } | AppAnswer)[] = []
  /** Rejects valid messages. */
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
      return this.#judge(body === undefined ? { rejected: 'no JSON' } : rules.read(body))
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
    const rejected = 'rejected' in verdict ? verdict.rejected : this.dislikes(verdict) ? 'disliked' : undefined
    if (rejected !== undefined) this.rejected.push(rejected)
    if (rejected !== undefined || 'rejected' in verdict)
      return { status: 400, body: this.#rules.rejection(rejected ?? '') }
    this.accepted.push(verdict)
    return { ...this.#rules.success, headers: this.headers }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]()
  }
}

/** Items for a sink, with ascending ids. */
export function items(...contents: readonly (AnyEvent | { readonly payload: unknown })[]): SinkItem[] {
  return contents.map((content, index) => {
    const id = String(index + 1)
    const isPayload = 'payload' in content
    const event = isPayload ? { id: 'evt_p', type: 'x', created_at: '2026-01-31T14:03:22Z', data: {} } : content
    const payload = isPayload ? content.payload : undefined
    return anItem(Buffer.from(JSON.stringify(event)), {
      id,
      key: null,
      payload,
      idempotencyKey: `sink:${event.id}:${id}`,
    })
  })
}

interface Service {
  readonly kind: {
    readonly options: z.ZodType
    create(setup: never, tools: undefined, timing: Timing): Readonly<SinkDefinition>
  }
  /** Name in messages. */
  readonly who: string
  readonly rules: Rules
  /** Must not appear in errors or log lines. */
  readonly secret: string
  readonly optionsFor: (fake: FakeChat) => object
}

/** Sinks for people, set up for their fakes. */
export const services = {
  slack: {
    kind: slackKind,
    who: 'Slack',
    rules: slackRules,
    secret: 'TokenOfSlackThatIsNone',
    optionsFor: ({ url }) => ({ url }),
  },
  discord: {
    kind: discordKind,
    who: 'Discord',
    rules: discordRules,
    secret: 'TokenOfDiscordThatIsNone',
    optionsFor: ({ url }) => ({ url: `${url}?thread_id=77` }),
  },
  telegram: {
    kind: telegramKind,
    who: 'Telegram',
    rules: telegramRules,
    secret: botToken,
    optionsFor: ({ origin }) => ({ token: botToken, chatId: 42, baseUrl: `${origin}/` }),
  },
  pagerduty: {
    kind: pagerdutyKind,
    who: 'PagerDuty',
    rules: pagerdutyRules,
    secret: routingKey,
    optionsFor: ({ origin }) => ({ routingKey, baseUrl: origin }),
  },
} satisfies Record<string, Service>

/** A sink with its fake service, on a clock that only the sink's sleeps advance. */
export async function stageService(name: keyof typeof services, options: object = {}) {
  const { kind, rules, optionsFor }: Service = services[name]
  const fake = await FakeChat.start(rules)
  const pauses: number[] = []
  const sleeps: number[] = []
  const abort = new AbortController()
  let now = 0
  const ctx = aSinkContext({ signal: abort.signal, pause: (ms) => void pauses.push(ms) })
  const timing = {
    now: () => now,
    async sleep(ms: number) {
      sleeps.push(ms)
      now += ms
    },
  }
  const parsed = kind.options.parse({ ...optionsFor(fake), ...options })
  const sink = kind.create({ name: 'out', options: parsed } as never, undefined, timing)
  return {
    fake,
    pauses,
    sleeps,
    lines: ctx.lines,
    abort,
    pass: (ms: number) => void (now += ms),
    /** Returns the thrown error, or undefined. */
    async send(batch: readonly SinkItem[]): Promise<unknown> {
      try {
        await sink.send(batch, ctx)
        return undefined
      } catch (error) {
        return error
      }
    },
    [Symbol.asyncDispose]: () => fake[Symbol.asyncDispose](),
  }
}
