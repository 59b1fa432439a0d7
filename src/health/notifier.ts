import { createHash } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import { ownEventSchemas, type OwnEventData, type OwnEventType } from '../../schema/own.ts'
import { internalLabel, type AcceptPort, type EventSummary, type NewEvent, type QueryStore } from '../inbox/port.ts'
import { safeText, type Logger } from '../base/log.ts'
import type { Warning } from './port.ts'
import { countText } from './words.ts'

export interface NotifierOptions {
  readonly inbox: AcceptPort & Pick<QueryStore, 'events' | 'event'>
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
  /** Without a slash at its end; null: not known. */
  readonly consoleUrl: string | null
}

/** Puts what begins and ends into the inbox as events of its own, from where it goes the way of all events. */
export interface Notifier {
  /** Those that were told and are not over yet, as far as is stored. Rejects while the store cannot be read. */
  open(): Promise<readonly OwnWarning[]>
  /** False: there were too many in the last hour. Try again later, ends first. */
  tell(told: OwnWarning, turn: Turn): boolean
  /** Stores what was told, as far as it can be stored now; the rest is kept for the next time. Never rejects. */
  flush(): Promise<void>
}

const hourMs = 3_600_000
/** Notifications in an hour, and so many more that a warning has begun that is critical, or has become so. */
const mostPerHour = 20
const mostCritical = 5
const mostOpen = 100
/** Warnings that are looked through at a start, and their ends: one that is on for long has many newer ones before it. */
const mostBegun = 2_000
const mostEnds = 2 * mostBegun
const pageSize = 200
/** Of a list, before it is taken for complete: where few events match, a page comes back short. */
const mostPages = 200
const leftOutCode = 'notifications_left_out'
/** While nothing can be stored. */
const mostPending = 200

/** At most 20 notifications in an hour, critical ones apart, then one that says how many were left out, at most once an hour. */
export function createNotifier({ inbox, clock, log, consoleUrl }: NotifierOptions): Notifier {
  /** Of the last hour. */
  let sentAt: number[] = []
  let pending: NewEvent[] = []
  /** Those that found no room: by code and subject. */
  const leftOut = new Set<string>()
  let leftOutToldAt = -Infinity
  let hasFailed = false

  const isOfLastHour = (at: number, now: number) => now - at < hourMs && at <= now

  function hasRoom(now: number, most = mostPerHour): boolean {
    sentAt = sentAt.filter((at) => isOfLastHour(at, now))
    return sentAt.length < most
  }

  async function newestOf(type: OwnEventType, most: number): Promise<EventSummary[]> {
    const found: EventSummary[] = []
    let cursor: string | undefined
    for (let pages = 0; pages < mostPages; pages++) {
      const page = await inbox.events({
        type,
        limit: Math.min(pageSize, most - found.length),
        ...(cursor !== undefined && { cursor }),
      })
      found.push(...page.data)
      if (page.nextCursor === null || found.length >= most) break
      cursor = page.nextCursor
    }
    return found
  }

  /** Of the end of a warning there is one, whoever comes to tell of it. */
  async function isNew({ id, type }: NewEvent): Promise<boolean> {
    return type !== ('inbox.resolved' satisfies OwnEventType) || (await inbox.event(id)) === null
  }

  function send(told: OwnWarning, turn: Turn, now: number): void {
    const event = toOwnEvent(told, turn, { at: now, consoleUrl })
    if (pending.some(({ id }) => id === event.id)) return
    sentAt.push(now)
    pending = [...pending, event].slice(-mostPending)
  }

  /** It takes the room of a warning that is still active. Without a limit that one would never find any. */
  function announceLeftOut(now: number): void {
    if (leftOut.size === 0 || isOfLastHour(leftOutToldAt, now) || !hasRoom(now)) return
    leftOutToldAt = now
    send({ warning: leftOutWarning(leftOut.size, now), toldAt: now, replica: null }, 'begun', now)
    leftOut.clear()
  }

  return {
    async open() {
      const [begun, resolved] = await Promise.all([
        newestOf('inbox.warning', mostBegun),
        newestOf('inbox.resolved', mostEnds),
      ])
      sentAt = [...begun, ...resolved].map(({ receivedAt }) => receivedAt)
      const over = new Set(resolved.map(({ id }) => firstIdOf(id)))
      // Newest first, so of one that became critical this is what is found.
      const newest = new Map(begun.toReversed().map(({ id }) => [firstIdOf(id), id]))
      const ids = [...newest]
        .filter(([first]) => !over.has(first) && !first.startsWith(`inbox:${leftOutCode}:`))
        .map(([, id]) => id)
        .slice(-mostOpen)
      const found = await Promise.all(
        ids.map(async (id) => readOwnEvent(id, (await inbox.event(id))?.raw ?? new Uint8Array())),
      )
      return found.filter((told) => told !== null && told.warning.level !== 'info') as OwnWarning[]
    },
    tell(told, turn) {
      const now = clock.now()
      const { code, subject, level } = told.warning
      const key = `${code} ${subject}`
      if (turn !== 'resolved') announceLeftOut(now)
      const isUrgent = turn !== 'resolved' && level === 'critical'
      if (hasRoom(now, isUrgent ? mostPerHour + mostCritical : mostPerHour)) {
        send(told, turn, now)
        leftOut.delete(key)
        return true
      }
      if (turn !== 'resolved' && leftOut.size < mostOpen) leftOut.add(key)
      return false
    },
    async flush() {
      if (pending.length === 0) return
      const batch = pending
      try {
        const isNews = await Promise.all(batch.map(isNew))
        await inbox.accept(batch.filter((_, index) => isNews[index]))
        pending = pending.filter((event) => !batch.includes(event))
        hasFailed = false
      } catch (error) {
        if (!hasFailed)
          log.warn(
            { error: safeText(messageOf(error)) },
            'warnings cannot be stored now; they are once that is possible',
          )
        hasFailed = true
      }
    },
  }
}

function leftOutWarning(count: number, now: number): Warning {
  return {
    code: leftOutCode,
    subject: '',
    level: 'info',
    title: `${countText(count, 'notification was', 'notifications were')} left out`,
    text: `At most ${mostPerHour} go out in an hour. The console shows all warnings.`,
    since: now,
    href: '/health',
  }
}

/** A warning that is told: with when that began, by which its events are known. */
export interface ToldWarning {
  readonly warning: Warning
  readonly toldAt: number
}

/** With the replica that it is about; null: about all there are. */
export interface OwnWarning extends ToldWarning {
  readonly replica: string | null
}

/** What has become of it: `critical` is said of one that was none when it began. */
export type Turn = 'begun' | 'critical' | 'resolved'

const suffixes: Readonly<Record<Turn, string>> = { begun: '', critical: ':critical', resolved: ':resolved' }

interface OwnEventOptions {
  readonly at: number
  /** Without a slash at its end; null: not known. */
  readonly consoleUrl: string | null
}

/**
 * The event that tells of a warning: `inbox:<code>:<digest of subject and replica>:<when it was told first>`, with what became of it
 * behind that. All events of a warning have one key, so that whoever keeps order gets its end after its begin.
 */
export function toOwnEvent({ warning, toldAt, replica }: OwnWarning, turn: Turn, options: OwnEventOptions): NewEvent {
  const { at, consoleUrl } = options
  const { code, subject, level, title, text, since, href } = warning
  const digest = digestOf(replica === null ? subject : `${replica} ${subject}`)
  const id = `inbox:${code}:${digest}:${toldAt}${suffixes[turn]}`
  const type: OwnEventType = turn === 'resolved' ? 'inbox.resolved' : 'inbox.warning'
  const createdAt = new Date(at).toISOString()
  const data: OwnEventData = {
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
    // Without a colon: what is before one is the network of an event.
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

/** The id that the first event of the same warning has. */
function firstIdOf(id: string): string {
  return id.replace(/:(?:critical|resolved)$/, '')
}

/** The warning that stored bytes tell of; null if they tell of none, or are gone. */
function readOwnEvent(id: string, raw: Uint8Array): OwnWarning | null {
  const toldAt = Number(/:(\d{1,15})$/.exec(firstIdOf(id))?.[1])
  try {
    const event = ownEventSchemas['inbox.warning'].parse(JSON.parse(Buffer.from(raw).toString()))
    const { code, subject, level, title, text, since, href, replica = null } = event.data
    return Number.isNaN(toldAt)
      ? null
      : { warning: { code, subject, level, title, text, since: Date.parse(since), href }, toldAt, replica }
  } catch {
    return null
  }
}
