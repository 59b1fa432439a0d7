import { RetryableError, TerminalError, type SinkContext, type SinkDefinition, type SinkItem } from 'onchain-inbox'
import { secretUrl } from './kind.ts'
import { fillTemplate, templateFor, templates, type Templates } from './template.ts'
import {
  createProgress,
  toMessages,
  type Outgoing,
  own,
  toParts,
  type Dialect,
  foreign,
  joined,
  type Piece,
} from './split.ts'
import { isUnusable, pausingRefusal, refusal, type Answer } from './http.ts'
import { formatText, formatTime, type Severity } from 'onchain-inbox/format'
import { toMessage, type Message } from './message.ts'
import { setTimeout as delay } from 'node:timers/promises'
import { z } from 'zod'

/** Options of chats with a webhook. */
export const webhookOptions = z.strictObject({
  /** Anyone who knows the URL can post: it is a secret. */
  url: secretUrl,
  templates: templates.optional(),
})

export type WebhookOptions = z.output<typeof webhookOptions>

/** The properties that differ between chat services. */
export interface ChatService {
  /** Name in messages. */
  readonly who: string
  readonly dialect: Dialect
  readonly limits: readonly Limit[]
  /** Sends one message made of parts. Returns the response; an error status doesn't throw. */
  post(parts: readonly string[], ctx: SinkContext): Promise<Answer>
  /** Milliseconds to wait, read from the response in the service's own format; undefined: no wait. */
  waitOf?(answer: Answer): number | undefined
}

export interface ChatOptions {
  readonly name: string
  readonly templates: Templates | undefined
  /** Maximum number of items per send: about as many as fit into one message. */
  readonly batch: number
}

/** Maximum wait within a send. For a longer wait, the sink pauses and frees its slot for other sinks. */
const maxSleepMs = 2_500

/**
 * A sink that writes to a chat within the service's rate limits. Pending items are joined into few messages. A retry
 * skips the parts that an earlier attempt in this process sent. A rejected message is replaced by a notice, so one event
 * doesn't block others.
 */
export function createChatSink(
  service: ChatService,
  { name, templates, batch }: ChatOptions,
  timing: Timing = systemTiming,
): Readonly<SinkDefinition> {
  const { who, dialect } = service
  const pacer = createPacer(service.limits, timing)
  const progress = createProgress()

  async function send(items: readonly SinkItem[], ctx: SinkContext): Promise<void> {
    const shown = items.toSorted(byId).map((item) => ({ item, pieces: toPieces(item, templates) }))
    const bad = shown.filter(({ pieces }) => pieces === undefined).map(({ item }) => item.idempotencyKey)
    if (bad.length === items.length) throw new TerminalError(unusablePayload(name))
    if (bad.length > 0) ctx.log.error({ items: bad }, 'enqueued payload invalid, notice sent')
    const splits = shown
      .filter(({ item }) => !progress.isSent(item.id))
      .map(({ item, pieces = [own(`⚠ ${unusablePayload(name)}`)] }) => ({
        id: item.id,
        parts: toParts(pieces, dialect),
      }))
    const byItem = new Map(items.map((item) => [item.id, item]))
    for (const message of toMessages(splits, dialect)) {
      const [id = ''] = message.ids
      if (message.index < progress.partsSent(id)) continue
      const refused = await sendOne(message, ctx)
      if (refused !== undefined) await sendAlone(message, refused, byItem, ctx)
    }
    progress.forget(items.map(({ id }) => id))
    const waitMs = pacer.waitMs()
    if (waitMs > 0) ctx.pause(waitMs)
  }

  /** Sends a message when the rate limits allow it. Returns the response if the service rejected this message, else undefined. */
  async function sendOne(message: Outgoing, ctx: SinkContext): Promise<Answer | undefined> {
    await takeTurn(ctx)
    const answer = await service.post(message.parts, ctx)
    pacer.sent()
    const waitMs = service.waitOf?.(answer)
    if (answer.status >= 200 && answer.status < 300) {
      if (waitMs !== undefined) pacer.hold(waitMs)
      progress.sent(message)
      return undefined
    }
    if (isUnusable(answer)) return answer
    const pause = (ms: number) => {
      pacer.hold(ms)
      ctx.pause(ms)
    }
    throw pausingRefusal(answer, who, pause, waitMs)
  }

  /** Sends each item of a rejected message alone, and a notice instead of a rejected item. */
  async function sendAlone(
    message: Outgoing,
    refused: Answer,
    byItem: ReadonlyMap<string, SinkItem>,
    ctx: SinkContext,
  ): Promise<void> {
    if (message.ids.length > 1) {
      for (const [index, id] of message.ids.entries()) {
        const alone: Outgoing = { ...message, ids: [id], parts: message.parts.slice(index, index + 1) }
        const refusedToo = await sendOne(alone, ctx)
        if (refusedToo !== undefined) await sendAlone(alone, refusedToo, byItem, ctx)
      }
      return
    }
    const [id = ''] = message.ids
    const event = byItem.get(id)?.event
    const plain = `An event could not be shown: ${plainWord(event?.type)}, ${plainWord(event?.id)}`
    const parts = toParts([own(plain)], dialect).map(({ written }) => written)
    const again = await sendOne({ ...message, parts, isLast: true }, ctx)
    if (again !== undefined) throw refusal(again, who)
    ctx.log.warn({ eventId: event?.id, answer: refused.text.slice(0, 200) }, 'chat service refused message')
  }

  async function takeTurn(ctx: SinkContext): Promise<void> {
    const waitMs = pacer.waitMs()
    if (waitMs > maxSleepMs) {
      ctx.pause(waitMs)
      throw new RetryableError(`${who} accepts no messages for ${waitMs} ms`, { retryAfterMs: waitMs })
    }
    if (waitMs > 0) await timing.sleep(waitMs, ctx.signal)
  }

  return {
    batch,
    // With ordering by key, a batch would have one item per key. Without it, a burst becomes a digest.
    order: 'none',
    concurrency: 1,
    timeoutMs: 60_000,
    retry: { attempts: 60, baseMs: 1_000, capMs: 600_000 },
    breaker: {},
    send,
  }
}

function unusablePayload(name: string): string {
  return `the sink ${name} takes { text: '…' } with non-empty text from handlers`
}

/** Oldest item first. */
function byId(a: SinkItem, b: SinkItem): number {
  return a.id.length - b.id.length || (a.id < b.id ? -1 : 1)
}

/** Text that every service accepts. */
function plainWord(text = '?'): string {
  return text.slice(0, 80).replaceAll(/[^\w-]/g, '_')
}

const marks: Readonly<Record<Severity, string>> = { info: '🔹', warning: '🟡', critical: '🔴' }

/** The message of an item; undefined for an invalid payload. */
export function toPieces({ payload, event }: SinkItem, templates: Templates = {}): Piece[] | undefined {
  if (payload !== undefined) return piecesOfPayload(payload)
  const message = toMessage(event)
  const template = templateFor(templates, event.type)
  return template === undefined ? piecesOfMessage(message) : fillTemplate(template, event, message)
}

/** First line: title. Second line: network, time, facts and links. */
function piecesOfMessage({ title, facts, links, network, severity, time, type, text }: Message): Piece[] {
  const isOwn = type.startsWith('inbox.')
  const linked = new Set(links.map(({ label }) => label))
  return [
    own(`${marks[severity]} `),
    foreign(title),
    own('\n'),
    ...(text === undefined ? [] : [foreign(text), own('\n')]),
    ...joined([
      ...(isOwn ? [] : [[foreign(network ?? '?')]]),
      [own(`${formatTime(time)} UTC`)],
      ...facts.filter(([label]) => !linked.has(label)).map(([label, value]) => [foreign(`${label} ${value}`)]),
      ...links.map(({ label, url }) => [{ text: label, url }]),
    ]),
  ]
}

/** `{ text }`: keeps lines, escapes control characters. */
function piecesOfPayload(payload: unknown): Piece[] | undefined {
  if (typeof payload !== 'object' || payload === null || !('text' in payload)) return undefined
  const { text } = payload
  if (typeof text !== 'string' || text.trim() === '') return undefined
  const lines = text.split(/\r?\n/).map((line) => (line === '' ? '' : formatText(line, Infinity)))
  return [own(lines.join('\n').toWellFormed())]
}

/** Clock of the pacer. */
export interface Timing {
  /** Monotonic milliseconds. */
  now(): number
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

export const systemTiming: Timing = {
  now: () => performance.now(),
  sleep: (ms, signal) => delay(ms, undefined, { signal }),
}

/** At most `count` messages within `ms` milliseconds. */
export interface Limit {
  readonly count: number
  readonly ms: number
}

export interface Pacer {
  /** Milliseconds until a message may be sent; 0: now. */
  waitMs(): number
  /** Counts a sent message. */
  sent(): void
  /** Allows no message for `ms` milliseconds. */
  hold(ms: number): void
}

/** Creates a pacer that keeps all limits within any period of their length. */
export function createPacer(limits: readonly Limit[], { now }: Pick<Timing, 'now'>): Pacer {
  const remembered = Math.max(...limits.map(({ count }) => count))
  const sentAt: number[] = []
  let heldUntil = -Infinity
  return {
    waitMs() {
      const free = limits.map(({ count, ms }) => (sentAt.at(-count) ?? -Infinity) + ms)
      return Math.max(0, Math.ceil(Math.max(heldUntil, ...free) - now()))
    },
    sent() {
      sentAt.push(now())
      if (sentAt.length > remembered) sentAt.shift()
    },
    hold(ms) {
      heldUntil = Math.max(heldUntil, now() + ms)
    },
  }
}
