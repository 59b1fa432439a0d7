import { createHash } from 'node:crypto'
import { hourMs, type Clock } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import { internalEventSchemas, type InternalEventData, type InternalEventType } from '../../schema/internal.ts'
import { internalLabel, type AcceptPort, type EventSummary, type NewEvent, type QueryStore } from '../inbox/port.ts'
import { safeText, type Logger } from '../base/log.ts'
import type { Warning } from './facts.ts'
import { countText } from './words.ts'

export interface NotifierOptions {
  readonly inbox: AcceptPort & Pick<QueryStore, 'events' | 'event'>
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
  /** URL of the console without a trailing slash; null: unknown. */
  readonly consoleUrl: string | null
}

/** Maximum notifications per hour, and extra ones for critical warnings. */
const maxPerHour = 20
const maxExtraCritical = 5
/** Maximum active warnings restored at a start, and maximum skipped warnings that are counted. */
const maxOpen = 100
/** Maximum warnings read at a start, and maximum ends of warnings. The list is long because an active warning may be old. */
const maxBegun = 2_000
const maxEnds = 2 * maxBegun
const pageSize = 200
/** Maximum pages read per list, because filtered pages may be short. */
const maxPages = 4_000
const skippedCode = 'notifications_left_out'
/** Maximum queued notifications while the store is not writable. */
const maxPending = 200

/**
 * Notifies handlers and sinks of warnings: stores the begin and end of each as an internal event. Limit: 20 notifications
 * per hour, plus 5 critical ones. If some were skipped, one notification per hour has their number.
 */
export function createNotifier({ inbox, clock, log, consoleUrl }: NotifierOptions) {
  /** Times of the notifications of the last hour. */
  let sentAt: number[] = []
  let pending: NewEvent[] = []
  /** Skipped warnings, by code and subject. */
  const skipped = new Set<string>()
  let skippedNotifiedAt = -Infinity
  let hasFailed = false

  const isOfLastHour = (at: number, now: number) => now - at < hourMs && at <= now

  function hasRoom(now: number, max = maxPerHour): boolean {
    sentAt = sentAt.filter((at) => isOfLastHour(at, now))
    return sentAt.length < max
  }

  async function newestOf(type: InternalEventType, max: number): Promise<EventSummary[]> {
    const found: EventSummary[] = []
    let cursor: string | undefined
    for (let pages = 0; pages < maxPages; pages++) {
      const page = await inbox.events({
        type,
        limit: Math.min(pageSize, max - found.length),
        ...(cursor !== undefined && { cursor }),
      })
      found.push(...page.data)
      if (page.nextCursor === null || found.length >= max) break
      cursor = page.nextCursor
    }
    return found
  }

  /** False if the event is the end of a warning that another process has already stored. */
  async function isNew({ id, type }: NewEvent): Promise<boolean> {
    return type !== ('inbox.resolved' satisfies InternalEventType) || (await inbox.event(id)) === null
  }

  function send(notified: ReplicaWarning, transition: Transition, now: number): void {
    const event = toInternalEvent(notified, transition, { at: now, consoleUrl })
    if (pending.some(({ id }) => id === event.id)) return
    sentAt.push(now)
    pending = [...pending, event].slice(-maxPending)
  }

  /** Queues a notification with the number of skipped warnings. Counts against the limit. */
  function announceSkipped(now: number): void {
    if (skipped.size === 0 || isOfLastHour(skippedNotifiedAt, now) || !hasRoom(now)) return
    skippedNotifiedAt = now
    send({ warning: skippedWarning(skipped.size, now), notifiedAt: now, replica: null }, 'begun', now)
    skipped.clear()
  }

  return {
    /** Stored warnings that have not ended. Rejects if the store can't be read. */
    async open(): Promise<readonly ReplicaWarning[]> {
      const [begun, resolved] = await Promise.all([
        newestOf('inbox.warning', maxBegun),
        newestOf('inbox.resolved', maxEnds),
      ])
      sentAt = [...begun, ...resolved].map(({ receivedAt }) => receivedAt)
      const resolvedIds = new Set(resolved.map(({ id }) => firstIdOf(id)))
      // `begun` is newest first, so the map keeps the newest event of a warning: the one that made it critical, if any.
      const newest = new Map(begun.toReversed().map(({ id }) => [firstIdOf(id), id]))
      const ids = [...newest]
        .filter(([first]) => !resolvedIds.has(first) && !first.startsWith(`inbox:${skippedCode}:`))
        .map(([, id]) => id)
        .slice(-maxOpen)
      const found = await Promise.all(
        ids.map(async (id) => readInternalEvent(id, (await inbox.event(id))?.raw ?? new Uint8Array())),
      )
      return found.filter((notified) => notified !== null && notified.warning.level !== 'info') as ReplicaWarning[]
    },
    /** Queues a notification. Returns false if the hourly limit is reached. Then call again later, with ends first. */
    notify(notified: ReplicaWarning, transition: Transition): boolean {
      const now = clock.now()
      const { code, subject, level } = notified.warning
      const key = `${code} ${subject}`
      if (transition !== 'resolved') announceSkipped(now)
      const isUrgent = transition !== 'resolved' && level === 'critical'
      if (hasRoom(now, isUrgent ? maxPerHour + maxExtraCritical : maxPerHour)) {
        send(notified, transition, now)
        skipped.delete(key)
        return true
      }
      if (transition !== 'resolved' && skipped.size < maxOpen) skipped.add(key)
      return false
    },
    /** Stores the queued notifications. Keeps them for the next call if that fails. Never rejects. */
    async flush(): Promise<void> {
      if (pending.length === 0) return
      const batch = pending
      try {
        const areNew = await Promise.all(batch.map(isNew))
        await inbox.accept(batch.filter((_, index) => areNew[index]))
        pending = pending.filter((event) => !batch.includes(event))
        hasFailed = false
      } catch (error) {
        if (!hasFailed) log.warn({ error: safeText(messageOf(error)) }, 'storing warnings failed, retrying')
        hasFailed = true
      }
    },
  }
}

function skippedWarning(count: number, now: number): Warning {
  return {
    code: skippedCode,
    subject: '',
    level: 'info',
    title: `${countText(count, 'notification was', 'notifications were')} skipped`,
    text: `At most ${maxPerHour} are sent per hour. The console shows all warnings.`,
    since: now,
    href: '/deliveries',
  }
}

/** A warning with the time of its first notification, which identifies its events. */
export interface NotifiedWarning {
  readonly warning: Warning
  readonly notifiedAt: number
}

/** The replica that the warning is about; null: all of them. */
export interface ReplicaWarning extends NotifiedWarning {
  readonly replica: string | null
}

/** State change of a warning. `critical`: it became critical after it began. */
export type Transition = 'begun' | 'critical' | 'resolved'

const suffixes: Readonly<Record<Transition, string>> = { begun: '', critical: ':critical', resolved: ':resolved' }

interface InternalEventOptions {
  readonly at: number
  /** Without a trailing slash; null: unknown. */
  readonly consoleUrl: string | null
}

/**
 * Builds the event for a warning. Its id is `inbox:<code>:<digest of subject and replica>:<first notification>`,
 * followed by the transition. All events of a warning share a key, so consumers that keep order get its end after its begin.
 */
export function toInternalEvent(
  { warning, notifiedAt, replica }: ReplicaWarning,
  transition: Transition,
  options: InternalEventOptions,
): NewEvent {
  const { at, consoleUrl } = options
  const { code, subject, level, title, text, since, href } = warning
  const digest = digestOf(replica === null ? subject : `${replica} ${subject}`)
  const id = `inbox:${code}:${digest}:${notifiedAt}${suffixes[transition]}`
  const type: InternalEventType = transition === 'resolved' ? 'inbox.resolved' : 'inbox.warning'
  const createdAt = new Date(at).toISOString()
  const data: InternalEventData = {
    code,
    subject,
    level,
    title,
    text,
    since: new Date(since).toISOString(),
    href,
    ...(consoleUrl !== null && href !== null && { url: `${consoleUrl}/#${href}` }),
    ...(replica !== null && { replica }),
  }
  const raw = Buffer.from(JSON.stringify({ id, type, created_at: createdAt, data }))
  return {
    kind: 'event',
    id,
    type,
    createdAt,
    // No colon: text before a colon is the network of an event.
    key: `inbox-${code}-${digest}`,
    network: null,
    address: null,
    raw,
    receivedAt: at,
    secretLabel: internalLabel,
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
}

/** Id of the first event of the same warning. */
function firstIdOf(id: string): string {
  return id.replace(/:(?:critical|resolved)$/, '')
}

/** Parses a stored warning event; null if it is not one, or its body was pruned. */
function readInternalEvent(id: string, raw: Uint8Array): ReplicaWarning | null {
  const notifiedAt = Number(/:(\d{1,15})$/.exec(firstIdOf(id))?.[1])
  try {
    const event = internalEventSchemas['inbox.warning'].parse(JSON.parse(Buffer.from(raw).toString()))
    const { code, subject, level, title, text, since, href, replica = null } = event.data
    return Number.isNaN(notifiedAt)
      ? null
      : { warning: { code, subject, level, title, text, since: Date.parse(since), href }, notifiedAt, replica }
  } catch {
    return null
  }
}
