import type { IncomingMessage, ServerResponse } from 'node:http'
import { z } from 'zod'
import type { Clock, Timer } from '../base/clock.ts'
import { InboxError } from '../base/errors.ts'
import { createStream } from '../base/http/sse.ts'
import { eventSummary, toEventSummaryJson } from './events.ts'
import { overview, showOverview } from './overview.ts'
import { describeRoute, type AdminContext } from './route.ts'
import { component, count } from './wire.ts'

/** Messages of `GET /stream`: at most one per second and kind, and only after a change. */
const streamKinds = ['events', 'overview', 'changed'] as const
export type StreamKind = (typeof streamKinds)[number]

const lists = ['handlers', 'dead-letters', 'quarantine', 'replays', 'rejects', 'health', 'audit'] as const

const eventsMessage = component('EventsMessage', {
  data: z.array(eventSummary).describe('new events, newest first, at most 50'),
  skipped: count.describe('further new events'),
})
const changedMessage = component('ChangedMessage', {
  what: z.array(z.enum(lists)).describe('lists that changed and must be loaded again'),
})
export const streamMessages = [eventsMessage, overview, changedMessage] as const

export type ChangedMessageJson = z.output<typeof changedMessage>

export const streamParameters = z.strictObject({
  kinds: z
    .string()
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(streamKinds)))
    .transform((kinds) => new Set(kinds))
    .prefault(streamKinds.join())
    .describe(`some of ${streamKinds.join(',')}`),
})

export const streamRoute = describeRoute({
  group: 'overview',
  at: 'GET /stream',
  summary: 'Follow changes as Server-Sent Events',
  query: streamParameters,
  gives: 'stream',
  errors: ['overloaded'],
})

/** Returns the change since the previous call; null: none. */
type Poll = () => Promise<object | null>

const pollMs = 1_000

/** Creates a poll per kind. Its first call takes the current state as known. */
type Polls = Readonly<Record<StreamKind, () => Poll>>

export function createPolls(context: AdminContext): Polls {
  return {
    events: () => pollEvents(context.inbox),
    overview: () => pollOverview(() => showOverview(context)),
    changed: () => pollLists(() => readListMarks(context)),
  }
}

/** Live updates to open pages of the console. Polls once a second while a stream is open. */
export function createLiveStream(polls: Polls, clock: Pick<Clock, 'after'>) {
  const stream = createStream<StreamKind>({ wall: clock, onLastLeft: stopPolling })
  const active = new Map<StreamKind, { readonly poll: Poll; isBusy: boolean }>()
  let timer: Timer | undefined
  let isClosed = false

  function stopPolling(): void {
    timer?.cancel()
    timer = undefined
    active.clear()
  }

  /** Does nothing while the previous poll of this kind is pending. */
  async function publish(kind: StreamKind): Promise<void> {
    const current = active.get(kind)
    if (current === undefined || current.isBusy) return
    current.isBusy = true
    try {
      const change = await current.poll()
      if (change !== null && active.get(kind) === current) stream.publish(kind, change)
    } catch {
      // The store logs its failures; the next poll may succeed.
    } finally {
      current.isBusy = false
    }
  }

  function schedule(): void {
    timer = clock.after(pollMs, () => {
      schedule()
      for (const kind of active.keys()) {
        if (stream.hasSubscribers(kind)) void publish(kind)
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
    /**
     * Takes over a response. `mayStay` is called every 15 s; the stream ends once it returns false.
     *
     * @throws InboxError `overloaded` at the limit of open streams, `shutting_down` after `close`
     */
    take(
      request: IncomingMessage,
      response: ServerResponse,
      kinds: ReadonlySet<StreamKind>,
      mayStay: () => boolean,
    ): void {
      // HEAD gets headers only.
      if (request.method === 'HEAD') response.writeHead(200, { 'Content-Type': 'text/event-stream' }).end()
      else if (stream.subscribe(response, { kinds, mayStay })) startPolling(kinds)
      else if (isClosed) throw new InboxError('shutting_down', 'this instance is shutting down')
      else throw new InboxError('overloaded', 'too many open streams: close another console page, or try again later')
    },
    /** Ends all streams. Idempotent. */
    close(): void {
      isClosed = true
      stream.close()
    },
  }
}

const maxEvents = 50

function pollEvents(inbox: Pick<AdminContext['inbox'], 'events'>): Poll {
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

/** Reports the overview if more than its time changed. */
export function pollOverview(read: () => Promise<object>): Poll {
  let last: string | null = null
  return async () => {
    const current = await read()
    const before = last
    last = JSON.stringify({ ...current, now: null })
    return last === before ? null : current
  }
}

/** A text per list that differs once the list has changed. */
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

/** The newest replays, some of which may be running. */
const maxReplays = 20

interface ListMarksInputs {
  readonly inbox: Pick<AdminContext['inbox'], 'stats' | 'deadLetters' | 'quarantine' | 'replays' | 'audit'>
  readonly rejects?: { count(): number }
  readonly watch?: { warnings(): readonly object[] }
}

/** Count and newest row show changes of lists that only grow or shrink. Other lists are compared row by row. */
export async function readListMarks({ inbox, rejects, watch }: ListMarksInputs): Promise<ListMarks> {
  const [stats, dead, quarantine, replays, audit] = await Promise.all([
    inbox.stats(),
    inbox.deadLetters({ limit: 1 }),
    inbox.quarantine({ limit: 1 }),
    inbox.replays({ limit: maxReplays }),
    inbox.audit({ limit: 1 }),
  ])
  const deadCounts = stats.handlers.map((handler) => handler.dead + handler.held)
  const marks = {
    handlers: [stats.paused, stats.handlers],
    'dead-letters': [dead.data[0]?.runId, dead.data[0]?.attempt, deadCounts],
    quarantine: [quarantine.data[0]?.id, stats.quarantined],
    replays: replays.data,
    rejects: rejects?.count() ?? '',
    health: [watch?.warnings() ?? [], stats.missingSeqs],
    // A large action updates its audit entry while it runs.
    audit: audit.data.map(({ id, detail }) => [id, detail]),
  }
  return Object.fromEntries(Object.entries(marks).map(([name, mark]) => [name, JSON.stringify(mark)]))
}
