import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import type { Clock, Timer } from '../base/clock.ts'
import { InboxError } from '../base/errors.ts'
import { createStream } from '../base/http/sse.ts'
import { eventSummary, toEventSummaryJson } from './events.ts'
import { overview, showOverview } from './overview.ts'
import { describeRoute, type AdminContext } from './route.ts'
import { components, count } from './wire.ts'

/** What `GET stream` sends, at most once a second each, and only after a change. */
const streamKinds = ['events', 'overview', 'changed'] as const
export type StreamKind = (typeof streamKinds)[number]

const lists = ['handlers', 'dead-letters', 'quarantine', 'replays', 'rejects', 'health', 'audit'] as const

/** New events, newest first, at most 50; `skipped`: how many more there were. */
const eventsMessage = z
  .object({ data: z.array(eventSummary), skipped: count })
  .register(components, { id: 'EventsMessage' })
/** Lists that changed, so that a page loads them again. */
const changedMessage = z.object({ what: z.array(z.enum(lists)) }).register(components, { id: 'ChangedMessage' })
export const streamMessages = [eventsMessage, overview, changedMessage] as const

export type EventsMessageJson = z.output<typeof eventsMessage>
export type ChangedMessageJson = z.output<typeof changedMessage>

const isKind = (name: string): name is StreamKind => streamKinds.some((kind) => kind === name)

export const streamParameters = z.strictObject({
  kinds: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.string().refine(isKind)))
    .transform((names) => new Set(names.filter(isKind)))
    .prefault(streamKinds.join())
    .describe(`some of ${streamKinds.join(',')}`),
})

export const streamRoute = describeRoute({
  group: 'overview',
  at: 'GET /stream',
  summary: 'Follow changes as Server-Sent Events',
  query: streamParameters,
  gives: 'stream',
  refuses: ['overloaded'],
})

/** Live updates to open pages of the console, as Server-Sent Events. */
export interface LiveStream {
  /**
   * Takes over a response. `mayStay` is called every 15 s; the stream ends once it returns false.
   *
   * @throws InboxError `overloaded` at the maximum of open streams, `shutting_down` once it was closed
   */
  take(request: IncomingMessage, response: ServerResponse, kinds: ReadonlySet<StreamKind>, mayStay: () => boolean): void
  /** Ends all streams. Idempotent. */
  close(): void
}

/** Returns what changed since the last call; null for no change. */
type Poll = () => Promise<object | null>

const pollMs = 1_000

/** Begins to watch a kind of message: its first poll sees everything before it as known. */
type Polls = Readonly<Record<StreamKind, () => Poll>>

export function createPolls(context: AdminContext): Polls {
  return {
    events: () => pollEvents(context.inbox),
    overview: () => pollOverview(() => showOverview(context)),
    changed: () => pollLists(() => readListMarks(context)),
  }
}

/** Polls once a second while a stream is open. */
export function createLiveStream(polls: Polls, clock: Pick<Clock, 'after'>): LiveStream {
  const stream = createStream<StreamKind>({ wall: clock, onSilence: stopPolling })
  const active = new Map<StreamKind, { readonly poll: Poll; isBusy: boolean }>()
  let timer: Timer | undefined
  let isClosed = false

  function stopPolling(): void {
    timer?.cancel()
    timer = undefined
    active.clear()
  }

  /** Skipped while the previous poll of this kind is not answered. */
  async function publish(kind: StreamKind): Promise<void> {
    const current = active.get(kind)
    if (current === undefined || current.isBusy) return
    current.isBusy = true
    try {
      const change = await current.poll()
      if (change !== null && active.get(kind) === current) stream.publish(kind, change)
    } catch {
      // A store that can't be read is in the log already; the next poll may succeed.
    } finally {
      current.isBusy = false
    }
  }

  function schedule(): void {
    timer = clock.after(pollMs, () => {
      schedule()
      for (const kind of active.keys()) {
        if (stream.isHeard(kind)) void publish(kind)
        else active.delete(kind)
      }
    })
  }

  function startPolling(kinds: Iterable<StreamKind>): void {
    for (const kind of kinds) {
      if (active.has(kind)) continue
      active.set(kind, { poll: polls[kind](), isBusy: false })
      void publish(kind)
    }
    if (timer === undefined) schedule()
  }

  return {
    take(request, response, kinds, mayStay) {
      // A HEAD request gets the headers and no stream.
      if (request.method === 'HEAD') response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end()
      else if (stream.subscribe(response, { kinds, mayStay })) startPolling(kinds)
      else if (isClosed) throw new InboxError('shutting_down', 'this instance is shutting down')
      else {
        const message = 'too many open streams: close another page of the console, or try again later'
        throw new InboxError('overloaded', message)
      }
    },
    close() {
      isClosed = true
      stream.close()
    },
  }
}

const maxEvents = 50

export function pollEvents(inbox: Pick<AdminContext['inbox'], 'events'>): Poll {
  let seen: number | null = null
  return async () => {
    const { data } = await inbox.events({ limit: seen === null ? 1 : maxEvents })
    const newest = data[0]?.seq ?? 0
    const before = seen ?? newest
    seen = newest
    const fresh = data.filter(({ seq }) => seq > before)
    if (fresh.length === 0) return null
    return { data: fresh.map(toEventSummaryJson), skipped: newest - before - fresh.length }
  }
}

export function pollOverview(read: () => Promise<object>): Poll {
  let last: string | null = null
  return async () => {
    const current = await read()
    const text = JSON.stringify({ ...current, now: null })
    const isNew = text !== last
    last = text
    return isNew ? current : null
  }
}

/** For each list a text that differs once the list has changed. */
type ListMarks = Readonly<Partial<Record<(typeof lists)[number], string>>>

export function pollLists(read: () => Promise<ListMarks>): Poll {
  let last: ListMarks | null = null
  return async () => {
    const marks = await read()
    const before = last ?? marks
    last = marks
    const what = lists.filter((name) => marks[name] !== before[name])
    return what.length === 0 ? null : { what }
  }
}

/** How many of the newest replays may still be running. */
const watchedReplays = 20

interface ListMarksSources {
  readonly inbox: Pick<AdminContext['inbox'], 'stats' | 'deadLetters' | 'quarantine' | 'replays' | 'audit'>
  readonly rejects?: { count(): number }
  readonly watch?: { warnings(): readonly object[] }
}

/** Count and newest row show a change in lists that only grow or shrink; other lists are compared row by row. */
export async function readListMarks({ inbox, rejects, watch }: ListMarksSources): Promise<ListMarks> {
  const [stats, dead, quarantine, replays, audit] = await Promise.all([
    inbox.stats(),
    inbox.deadLetters({ limit: 1 }),
    inbox.quarantine({ limit: 1 }),
    inbox.replays({ limit: watchedReplays }),
    inbox.audit({ limit: 1 }),
  ])
  const [newestDead] = dead.data
  return {
    handlers: JSON.stringify([stats.paused, stats.handlers]),
    'dead-letters': JSON.stringify([
      newestDead?.runId,
      newestDead?.attempt,
      stats.handlers.map((handler) => handler.dead + handler.held),
    ]),
    quarantine: JSON.stringify([quarantine.data[0]?.id, stats.quarantined]),
    replays: JSON.stringify(replays.data),
    rejects: String(rejects?.count() ?? ''),
    health: JSON.stringify([watch?.warnings() ?? [], stats.missingSeqs]),
    // A large action updates its audit entry as it goes on.
    audit: JSON.stringify(audit.data.map(({ id, detail }) => [id, detail])),
  }
}
