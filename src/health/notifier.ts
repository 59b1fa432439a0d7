import type { Clock } from '../clock.ts'
import { messageOf } from '../errors.ts'
import type { AcceptPort, NewEvent, ViewPort } from '../inbox/port.ts'
import { safeText, type Logger } from '../log.ts'
import { firstIdOf, readOwnEvent, toOwnEvent, type ToldWarning, type Turn } from './own-events.ts'
import type { Warning } from './port.ts'
import { countText } from './words.ts'

export interface NotifierOptions {
  readonly inbox: AcceptPort & Pick<ViewPort, 'events' | 'event'>
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
  /** Without a slash at its end; null: not known. */
  readonly consoleUrl: string | null
}

/** Puts what begins and ends into the inbox as events of its own, from where it goes the way of all events. */
export interface Notifier {
  /** Those that were told and are not over yet, as far as is stored. Rejects while the store cannot be read. */
  open(): Promise<readonly ToldWarning[]>
  /** False: there were too many in the last hour. It is worth another try later. An end is never refused, it may come later. */
  tell(told: ToldWarning, turn: Turn): boolean
  /** Stores what was told, as far as it can be stored now; the rest is kept for the next time. Never rejects. */
  flush(): Promise<void>
}

const hourMs = 3_600_000
/** Notifications in an hour. */
const mostPerHour = 20
const mostOpen = 100
/** While nothing can be stored. */
const mostPending = 200

/** At most 20 notifications in an hour, then one that says how many were left out. */
export function createNotifier({ inbox, clock, log, consoleUrl }: NotifierOptions): Notifier {
  /** Of the last hour. */
  let sentAt: number[] = []
  let pending: NewEvent[] = []
  /** Ends that wait for their turn. */
  let ends: ToldWarning[] = []
  /** Those that found no room: by code and subject. */
  const leftOut = new Set<string>()
  let hasFailed = false

  function hasRoom(now: number): boolean {
    sentAt = sentAt.filter((at) => now - at < hourMs && at <= now)
    return sentAt.length < mostPerHour
  }

  function send(told: ToldWarning, turn: Turn, now: number): void {
    sentAt.push(now)
    pending = [...pending, toOwnEvent(told, turn, { at: now, consoleUrl })].slice(-mostPending)
  }

  /** What waited for its turn goes before what is new. */
  function catchUp(now: number): void {
    while (ends.length > 0 && hasRoom(now)) {
      const [next] = ends.splice(0, 1)
      if (next !== undefined) send(next, 'resolved', now)
    }
    if (leftOut.size === 0 || !hasRoom(now)) return
    send({ warning: leftOutWarning(leftOut.size, now), toldAt: now }, 'begun', now)
    leftOut.clear()
  }

  return {
    async open() {
      const [begun, resolved] = await Promise.all([
        inbox.events({ type: 'inbox.warning', limit: mostOpen }),
        inbox.events({ type: 'inbox.resolved', limit: mostOpen }),
      ])
      sentAt = [...begun.data, ...resolved.data].map(({ receivedAt }) => receivedAt)
      const over = new Set(resolved.data.map(({ id }) => firstIdOf(id)))
      // Newest first, so of one that became critical this is what is found.
      const newest = new Map(begun.data.toReversed().map(({ id }) => [firstIdOf(id), id]))
      const ids = [...newest].filter(([first]) => !over.has(first)).map(([, id]) => id)
      const found = await Promise.all(
        ids.map(async (id) => readOwnEvent(id, (await inbox.event(id))?.raw ?? new Uint8Array())),
      )
      return found.filter((told) => told !== null && told.warning.level !== 'info') as ToldWarning[]
    },
    tell(told, turn) {
      const now = clock.now()
      catchUp(now)
      if (hasRoom(now)) {
        send(told, turn, now)
        return true
      }
      if (turn !== 'resolved') {
        const { code, subject } = told.warning
        if (leftOut.size < mostOpen) leftOut.add(`${code} ${subject}`)
        return false
      }
      ends = [...ends, told].slice(-mostOpen)
      return true
    },
    async flush() {
      catchUp(clock.now())
      if (pending.length === 0) return
      const batch = pending
      try {
        await inbox.accept(batch)
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
    code: 'notifications_left_out',
    subject: '',
    level: 'info',
    title: `${countText(count, 'notification was', 'notifications were')} left out`,
    text: `At most ${mostPerHour} go out in an hour. The console shows all warnings.`,
    since: now,
    href: '/health',
  }
}
