import { setTimeout as delay } from 'node:timers/promises'
import { RetryableError, type SinkContext, type SinkDefinition, type SinkItem } from 'onchain-inbox'
import { formatText, formatTime, type Severity } from 'onchain-inbox/format'
import { z } from 'zod'
import { external, joined, plain, toEntries, toMessages, type Dialect, type Entry, type Piece } from './chat-text.ts'
import { isInvalidRequest, isSuccess, jsonHeaders, post, toHttpError, type HttpResponse } from './http.ts'
import { requireValid, secretUrl, shortRetry } from './kind.ts'
import { toMessage, type Message } from './message.ts'
import { fillTemplate, templateFor, templates, type Templates } from './template.ts'

/** Options of chats with a webhook. */
export const webhookOptions = z.strictObject({
  /** Anyone who knows the URL can post: it is a secret. */
  url: secretUrl,
  templates: templates.optional(),
})

export type WebhookOptions = z.output<typeof webhookOptions>

export interface ChatService {
  /** Name in errors. */
  readonly service: string
  readonly url: string
  readonly secrets: readonly string[]
  readonly dialect: Dialect
  readonly limits: readonly Limit[]
  /** Maximum number of items per send: about as many as fit into one message. */
  readonly batch: number
  /** JSON body of a message with the texts of these items. */
  readonly toBody: (texts: readonly string[]) => object
  /** Milliseconds to wait, read from the response in the service's own format; undefined: no wait. */
  readonly waitOf?: (response: HttpResponse) => number | undefined
}

export interface ChatOptions {
  readonly name: string
  readonly templates: Templates | undefined
}

interface ItemEntry extends Entry {
  readonly id: string
  readonly item: SinkItem
}

/** Maximum wait within a send. For a longer wait, the sink pauses and frees its slot for other sinks. */
const maxSleepMs = 2_500
/** Maximum number of sent entries to remember until their send succeeds. Forgotten ones may be sent twice. */
const maxRemembered = 10_000

/**
 * A sink that writes to a chat within the service's rate limits. Pending items are joined into few messages. A retry
 * skips entries that an earlier attempt in this process sent. A rejected entry is replaced by a notice, so that it
 * doesn't block others.
 */
export function createChatSink(
  { service, url, secrets, dialect, limits, batch, toBody, waitOf }: ChatService,
  { name, templates }: ChatOptions,
  timing: Timing = systemTiming,
): Readonly<SinkDefinition> {
  const pacer = createPacer(limits, timing)
  /** Ids of sent entries whose send has not succeeded yet. */
  const sent = new Set<string>()
  const rule = `the sink ${name} takes { text: '…' } with non-empty text from handlers`

  async function send(items: readonly SinkItem[], ctx: SinkContext): Promise<void> {
    const texts = items.toSorted(byId).map((item) => ({ item, pieces: toPieces(item, templates) }))
    const invalid = texts.filter(({ pieces }) => pieces === undefined).map(({ item }) => item)
    requireValid(items, invalid, rule, ctx.log)
    const entries = texts.flatMap(({ item, pieces = [plain(`⚠ ${rule}`)] }) =>
      toEntries(pieces, dialect).map((entry, index): ItemEntry => ({ ...entry, item, id: `${item.id}/${index}` })),
    )
    const pending = entries.filter(({ id }) => !sent.has(id))
    for (const message of toMessages(pending, dialect)) await deliver(message, ctx)
    for (const { id } of entries) sent.delete(id)
    const waitMs = pacer.waitMs()
    if (waitMs > 0) ctx.pause(waitMs)
  }

  /** Posts a message. If the service rejects it, posts its entries one by one, and a notice instead of a rejected one. */
  async function deliver(entries: readonly ItemEntry[], ctx: SinkContext): Promise<void> {
    const texts = entries.map(({ written }) => written)
    const rejection = await postMessage(texts, ctx)
    if (rejection !== undefined && entries.length > 1) {
      for (const entry of entries) await deliver([entry], ctx)
      return
    }
    for (const { id, item } of entries) {
      if (rejection !== undefined) await postNotice(item.event, rejection, ctx)
      if (sent.size >= maxRemembered) sent.clear()
      sent.add(id)
    }
  }

  async function postNotice({ id, type }: SinkItem['event'], rejection: HttpResponse, ctx: SinkContext): Promise<void> {
    const notice = plain(`An event could not be shown: ${plainWord(type)}, ${plainWord(id)}`)
    const texts = toEntries([notice], dialect).map(({ written }) => written)
    const rejected = await postMessage(texts, ctx)
    if (rejected !== undefined) throw toHttpError(rejected, service)
    ctx.log.warn({ eventId: id, response: rejection.text.slice(0, 200) }, 'chat service rejected message')
  }

  /** Posts when the rate limits allow it. Returns the response if the service rejected this message, else undefined. */
  async function postMessage(texts: readonly string[], ctx: SinkContext): Promise<HttpResponse | undefined> {
    const { signal } = ctx
    await waitForTurn(ctx)
    const body = JSON.stringify(toBody(texts))
    const response = await post({ url, headers: jsonHeaders, body, signal, receiver: service, secrets })
    pacer.sent()
    const waitMs = waitOf?.(response)
    if (waitMs !== undefined) pacer.pause(waitMs)
    if (isSuccess(response)) return undefined
    if (isInvalidRequest(response)) return response
    const pause = (ms: number) => {
      pacer.pause(ms)
      ctx.pause(ms)
    }
    throw toHttpError(response, service, pause, waitMs)
  }

  async function waitForTurn(ctx: SinkContext): Promise<void> {
    const waitMs = pacer.waitMs()
    if (waitMs > maxSleepMs) {
      ctx.pause(waitMs)
      throw new RetryableError(`${service} accepts no messages for ${waitMs} ms`, { retryAfterMs: waitMs })
    }
    if (waitMs > 0) await timing.sleep(waitMs, ctx.signal)
  }

  return {
    batch,
    // With ordering by key, a batch would have one item per key. Without it, a burst becomes a digest.
    order: 'none',
    concurrency: 1,
    timeoutMs: 60_000,
    ...shortRetry,
    send,
  }
}

/** Oldest item first. */
function byId(a: SinkItem, b: SinkItem): number {
  return Number(a.id) - Number(b.id)
}

/** Text that every service accepts. */
function plainWord(text: string): string {
  return text.slice(0, 80).replaceAll(/[^\w-]/g, '_')
}

const marks: Readonly<Record<Severity, string>> = { info: '🔹', warning: '🟡', critical: '🔴' }
const payload = z.object({ text: z.string().regex(/\S/) })

/** The message of an item; undefined for an invalid payload. */
function toPieces(item: SinkItem, templates: Templates = {}): Piece[] | undefined {
  if (item.payload !== undefined) return piecesOfPayload(payload.safeParse(item.payload).data?.text)
  const message = toMessage(item.event)
  const template = templateFor(templates, item.event.type)
  return template === undefined ? piecesOfMessage(message) : fillTemplate(template, item.event, message)
}

/** First line: title. Second line: network, time, facts and links. */
function piecesOfMessage({ title, facts, links, network, severity, time, type, text }: Message): Piece[] {
  const linked = new Set(links.map(({ label }) => label))
  return [
    plain(`${marks[severity]} `),
    external(title),
    plain('\n'),
    ...(text === undefined ? [] : [external(text), plain('\n')]),
    ...joined([
      ...(type.startsWith('inbox.') ? [] : [[external(network ?? '?')]]),
      [plain(`${formatTime(time)} UTC`)],
      ...facts.filter(([label]) => !linked.has(label)).map(([label, value]) => [external(`${label} ${value}`)]),
      ...links.map(({ label, url }) => [{ text: label, url }]),
    ]),
  ]
}

/** Keeps lines, escapes control characters. */
function piecesOfPayload(text: string | undefined): Piece[] | undefined {
  const lines = text?.split(/\r?\n/).map((line) => (line === '' ? '' : formatText(line, Infinity)))
  return lines && [plain(lines.join('\n').toWellFormed())]
}

/** Clock of the pacer. */
export interface Timing {
  /** Monotonic milliseconds. */
  now(): number
  /** Rejects when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

const systemTiming: Timing = {
  now: () => performance.now(),
  sleep: (ms, signal) => delay(ms, undefined, { signal }),
}

/** At most `count` messages within `ms` milliseconds. */
export interface Limit {
  readonly count: number
  readonly ms: number
}

/** Creates a pacer. It allows at most `count` messages within any `ms` milliseconds, for each limit. */
export function createPacer(limits: readonly Limit[], { now }: Pick<Timing, 'now'>) {
  const maxCount = Math.max(...limits.map(({ count }) => count))
  const sentAt: number[] = []
  let pausedUntil = -Infinity
  return {
    /** Milliseconds until a message may be sent; 0: now. */
    waitMs() {
      const free = limits.map(({ count, ms }) => (sentAt.at(-count) ?? -Infinity) + ms)
      return Math.max(0, Math.ceil(Math.max(pausedUntil, ...free) - now()))
    },
    /** Counts a sent message. */
    sent() {
      sentAt.push(now())
      if (sentAt.length > maxCount) sentAt.shift()
    },
    /** Allows no message for `ms` milliseconds. */
    pause(ms: number) {
      pausedUntil = Math.max(pausedUntil, now() + ms)
    },
  }
}
