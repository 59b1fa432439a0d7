import { RetryableError, TerminalError, type SinkContext, type SinkDefinition, type SinkItem } from 'onchain-inbox'
import { type Templates, fillTemplate, templateFor } from './template.ts'
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

/** A chat service, as far as they differ. */
export interface ChatService {
  /** Its name, for messages. */
  readonly who: string
  readonly dialect: Dialect
  readonly limits: readonly Limit[]
  /** Sends one message made of parts; gives the answer whatever its status. */
  post(parts: readonly string[], ctx: SinkContext): Promise<Answer>
  /** How long it wants to be left alone, where it says so in a way of its own: milliseconds. */
  waitOf?(answer: Answer): number | undefined
}

export interface ChatOptions {
  readonly name: string
  readonly templates: Templates | undefined
  /** Items to one send at most: about as many as one message holds. */
  readonly batch: number
}

/** Longer than that no send waits for its next message: the dispatcher has better things to do with its place. */
const longestSleepMs = 2_500

/**
 * A sink that writes to a chat. It sends at the pace that the service allows; what gathers meanwhile goes into one message, or as
 * few as hold it. What was sent of a send that failed is not sent again while the process lives. A message that the service
 * will not have is replaced by one that says so: one odd event stops no others.
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
    if (bad.length > 0)
      ctx.log.error({ items: bad }, 'the sink cannot show what a handler enqueued; it says so instead')
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
      if (refused !== undefined) await sendOtherwise(message, refused, byItem, ctx)
    }
    progress.forget(items.map(({ id }) => id))
    const waitMs = pacer.waitMs()
    if (waitMs > 0) ctx.pause(waitMs)
  }

  /** Sends a message when its turn has come; gives the answer if the service will not have this very message. */
  async function sendOne(message: Outgoing, ctx: SinkContext): Promise<Answer | undefined> {
    await takeTurn(ctx)
    const answer = await service.post(message.parts, ctx)
    pacer.sent()
    const said = service.waitOf?.(answer)
    if (answer.status >= 200 && answer.status < 300) {
      if (said !== undefined) pacer.hold(said)
      progress.sent(message)
      return undefined
    }
    if (isUnusable(answer)) return answer
    const pause = (ms: number) => {
      pacer.hold(ms)
      ctx.pause(ms)
    }
    throw pausingRefusal(answer, who, pause, said)
  }

  /** Each item of a refused message by itself, so that one spoils no others; and then a plain word in its stead. */
  async function sendOtherwise(
    message: Outgoing,
    refused: Answer,
    byItem: ReadonlyMap<string, SinkItem>,
    ctx: SinkContext,
  ): Promise<void> {
    if (message.ids.length > 1) {
      for (const [index, id] of message.ids.entries()) {
        const alone: Outgoing = { ...message, ids: [id], parts: message.parts.slice(index, index + 1) }
        const refusedToo = await sendOne(alone, ctx)
        if (refusedToo !== undefined) await sendOtherwise(alone, refusedToo, byItem, ctx)
      }
      return
    }
    const [id = ''] = message.ids
    const event = byItem.get(id)?.event
    const plain = `An event could not be shown: ${plainWord(event?.type)}, ${plainWord(event?.id)}`
    const parts = toParts([own(plain)], dialect).map(({ written }) => written)
    const again = await sendOne({ ...message, parts, isLast: true }, ctx)
    if (again !== undefined) throw refusal(again, who)
    ctx.log.warn({ eventId: event?.id, answer: refused.text.slice(0, 200) }, 'the chat service refused a message')
  }

  async function takeTurn(ctx: SinkContext): Promise<void> {
    const waitMs = pacer.waitMs()
    if (waitMs > longestSleepMs) {
      ctx.pause(waitMs)
      throw new RetryableError(`${who} takes no more messages for ${waitMs} ms`, { retryAfterMs: waitMs })
    }
    if (waitMs > 0) await timing.sleep(waitMs, ctx.signal)
  }

  return {
    batch,
    // One message after the other, and of whatever wallet or token: only so does a burst become a digest.
    order: 'none',
    concurrency: 1,
    timeoutMs: 60_000,
    retry: { attempts: 60, baseMs: 1_000, capMs: 600_000 },
    breaker: { failures: 5, cooldownMs: 5_000, capMs: 300_000 },
    send,
  }
}

function unusablePayload(name: string): string {
  return `the sink ${name} takes { text: '…' }, with some text in it; what a handler enqueued is something else`
}

/** In the order in which they came to be. */
function byId(a: SinkItem, b: SinkItem): number {
  return a.id.length - b.id.length || (a.id < b.id ? -1 : 1)
}

/** Nothing that any service could object to. */
function plainWord(text = '?'): string {
  return text.slice(0, 80).replaceAll(/[^\w-]/g, '_')
}

const marks: Readonly<Record<Severity, string>> = { info: '🔹', warning: '🟡', critical: '🔴' }

/** What a chat gets to see of an item; undefined if it is nothing that can be shown. */
export function toPieces({ payload, event }: SinkItem, templates: Templates = {}): Piece[] | undefined {
  if (payload !== undefined) return piecesOfPayload(payload)
  const message = toMessage(event)
  const template = templateFor(templates, event.type)
  return template === undefined ? piecesOfMessage(message) : fillTemplate(template, event, message)
}

/** What happened; and below where, when, what else there is to say, and where to look. */
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

/** `{ text }`: its lines are kept, all else that could disturb a reader is escaped. */
function piecesOfPayload(payload: unknown): Piece[] | undefined {
  if (typeof payload !== 'object' || payload === null || !('text' in payload)) return undefined
  const { text } = payload
  if (typeof text !== 'string' || text.trim() === '') return undefined
  const lines = text.split(/\r?\n/).map((line) => (line === '' ? '' : formatText(line, Infinity)))
  return [own(lines.join('\n').toWellFormed())]
}

/** Time as pacing needs it. */
export interface Timing {
  /** Milliseconds, from any moment on, never back. */
  now(): number
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

export const systemTiming: Timing = {
  now: () => performance.now(),
  sleep: (ms, signal) => delay(ms, undefined, { signal }),
}

/** So many messages within so many milliseconds. */
export interface Limit {
  readonly count: number
  readonly ms: number
}

export interface Pacer {
  /** Milliseconds until a message may be sent; 0: now. */
  waitMs(): number
  /** A message has been sent. */
  sent(): void
  /** Nothing for so long. */
  hold(ms: number): void
}

/** Keeps to several limits at once, over any stretch of time. */
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
