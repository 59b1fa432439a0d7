import type { Previous, FoundWarning, Warning } from './facts.ts'
import type { NotifiedWarning, Transition } from './notifier.ts'
import { byUrgency, processCodes } from './warnings.ts'

/** Notifies of the transition of a warning. `isFirst`: not tried before. Returns false if that must be retried later. */
export type Notify = (notified: NotifiedWarning, transition: Transition, isFirst: boolean) => boolean

/** A warning that returns within this time, in milliseconds, never ended. */
const quietMs = 60_000
/** `quietMs` after a start: a new process has no counts yet and needs this long to find active warnings again. */
const quietAtStartMs = 10 * 60_000

interface Entry {
  warning: Warning
  /** Last time it was found at a level that causes a notification. */
  alarmedAt: number
  /** How long it must be absent before it counts as ended, in milliseconds. */
  quietMs: number
  isOn: boolean
  /** Transition of the latest notification attempt; null: none. */
  tried: Transition | null
  notified: { readonly at: number; readonly level: Warning['level'] } | null
}

/**
 * Tracks since when each warning is active, and which notifications were sent. A notification is due when a warning
 * begins, when it becomes critical, and when it was absent (or only `info`) for a minute. No I/O.
 */
export function createLedger() {
  const entries = new Map<string, Entry>()
  const keyOf = ({ code, subject }: Pick<FoundWarning, 'code' | 'subject'>) => `${code} ${subject}`
  const find = (code: string, subject = '') => entries.get(keyOf({ code, subject }))

  const before: Previous = {
    since: (code, subject) => find(code, subject)?.warning.since ?? null,
    level: (code, subject) => find(code, subject)?.warning.level ?? null,
  }
  return {
    ...before,
    /** Restores active warnings that an earlier process notified of. */
    restore(all: readonly NotifiedWarning[], now: number): void {
      for (const { warning, notifiedAt } of all) {
        const known = entries.get(keyOf(warning))
        const since = Math.min(warning.since, known?.warning.since ?? Infinity)
        entries.set(keyOf(warning), {
          warning: { ...(known?.warning ?? warning), since },
          alarmedAt: known?.alarmedAt ?? now,
          quietMs: quietAtStartMs,
          isOn: known?.isOn ?? false,
          tried: null,
          notified: { at: notifiedAt, level: warning.level },
        })
      }
    },
    /** Forgets notifications of the matching codes. */
    forget(matches: (code: string) => boolean): void {
      for (const entry of entries.values()) {
        if (!matches(entry.warning.code)) continue
        entry.notified = null
        entry.tried = null
      }
    },
    /** Stores the warnings found now. `isPartial`: the store was not read, so warnings that need it stay active. */
    update(found: readonly FoundWarning[], now: number, isPartial: boolean): void {
      for (const entry of entries.values()) if (!isPartial || processCodes.has(entry.warning.code)) entry.isOn = false
      for (const foundNow of found) {
        const known = entries.get(keyOf(foundNow))
        const alarmedAt = foundNow.level === 'info' ? (known?.alarmedAt ?? -Infinity) : now
        const warning = { ...foundNow, since: known?.warning.since ?? now }
        const { notified = null, tried = null } = known ?? {}
        entries.set(keyOf(foundNow), { warning, alarmedAt, quietMs, isOn: true, tried, notified })
      }
      for (const [key, entry] of entries) {
        if (entry.isOn && entry.warning.level !== 'info' && isPartial) entry.alarmedAt = now
        if (!entry.isOn && entry.notified === null && hasEnded(entry, now)) entries.delete(key)
      }
    },
    /** Warnings of the last check, most urgent first. */
    current: (): readonly Warning[] =>
      [...entries.values()]
        .filter(({ isOn }) => isOn)
        .map(({ warning }) => warning)
        .toSorted(byUrgency),
    /** Sends due notifications of codes with `isMine`, and forgets others: other processes send those. */
    notifyWith(notify: Notify, now: number, isMine: (code: string) => boolean): void {
      const due: { readonly key: string; readonly entry: Entry; readonly transition: Transition }[] = []
      for (const [key, entry] of entries) {
        const transition = isMine(entry.warning.code) ? nextTransition(entry, now) : null
        if (transition !== null) due.push({ key, entry, transition })
        else if (!isMine(entry.warning.code)) Object.assign(entry, { notified: null, tried: null })
      }
      // Ends first, before new warnings use up the hourly limit.
      for (const { key, entry, transition } of due.toSorted(
        (a, b) => Number(b.transition === 'resolved') - Number(a.transition === 'resolved'),
      )) {
        const at = entry.notified?.at ?? now
        // The end carries the level of the previous notification.
        const level = transition === 'resolved' ? (entry.notified?.level ?? 'warning') : entry.warning.level
        const isNotified = notify(
          { warning: { ...entry.warning, level }, notifiedAt: at },
          transition,
          entry.tried !== transition,
        )
        entry.tried = transition
        if (!isNotified) continue
        entry.notified = transition === 'resolved' ? null : { at, level }
        if (transition === 'resolved' && !entry.isOn) entries.delete(key)
      }
    },
  }
}

function nextTransition(entry: Entry, now: number): Transition | null {
  const { warning, isOn, notified } = entry
  const isAlarm = isOn && warning.level !== 'info'
  if (!isAlarm) return notified !== null && hasEnded(entry, now) ? 'resolved' : null
  if (notified === null) return 'begun'
  return warning.level === 'critical' && notified.level === 'warning' ? 'critical' : null
}

/** If the clock was set back, the warning counts as ended. */
function hasEnded(entry: Entry, now: number): boolean {
  return now - entry.alarmedAt >= entry.quietMs || now < entry.alarmedAt
}
