import type { Before, Found } from './facts.ts'
import type { ToldWarning, Turn } from './notifier.ts'
import type { Warning } from './port.ts'
import { byUrgency, processCodes } from './warnings.ts'

/** Tells what has become of a warning; `isFirst`: it was not tried before. False: it cannot be told now, and is tried again. */
export type Tell = (told: ToldWarning, turn: Turn, isFirst: boolean) => boolean

export interface WarningLedger extends Before {
  /** What the inbox says was told before this process began, and is not over. */
  restore(told: readonly ToldWarning[], now: number): void
  /** What was told of such codes is as if it had not been. */
  forget(isSuch: (code: string) => boolean): void
  /** Takes what was found now. `isPartial`: the store was not asked, so nothing of what it alone knows is over. */
  update(found: readonly Found[], now: number, isPartial: boolean): void
  /** Those that were found the last time, most urgent first. */
  current(): readonly Warning[]
  /** Tells what is to be told now, of the codes that this process is to tell of. What was told of others is for their tellers to know. */
  tellWith(tell: Tell, now: number, isMine: (code: string) => boolean): void
}

/** What comes back within this time had not gone. */
const quietMs = 60_000
/** A new process has counted nothing yet, and its sinks have failed at nothing: it takes so long to find again what is still on. */
const quietAtStartMs = 10 * 60_000

interface Entry {
  warning: Warning
  /** The last time that it was found at a level that is told. */
  alarmedAt: number
  /** For how long it has to be gone until it is over. */
  quietMs: number
  isOn: boolean
  /** What was tried last to be told of it. */
  tried: Turn | null
  told: { readonly at: number; readonly level: Warning['level'] } | null
}

/**
 * Since when each warning is on, and what of it was told: warnings and critical ones when they begin, when they become critical, and
 * when they have been gone, or only for information, for a minute. No I/O.
 */
export function createLedger(): WarningLedger {
  const entries = new Map<string, Entry>()
  const keyOf = ({ code, subject }: Pick<Found, 'code' | 'subject'>) => `${code} ${subject}`
  const find = (code: string, subject = '') => entries.get(keyOf({ code, subject }))

  return {
    since: (code, subject) => find(code, subject)?.warning.since ?? null,
    level: (code, subject) => find(code, subject)?.warning.level ?? null,
    restore(all, now) {
      for (const { warning, toldAt } of all) {
        const known = entries.get(keyOf(warning))
        const since = Math.min(warning.since, known?.warning.since ?? Infinity)
        entries.set(keyOf(warning), {
          warning: { ...(known?.warning ?? warning), since },
          alarmedAt: known?.alarmedAt ?? now,
          quietMs: quietAtStartMs,
          isOn: known?.isOn ?? false,
          tried: null,
          told: { at: toldAt, level: warning.level },
        })
      }
    },
    forget(isSuch) {
      for (const entry of entries.values()) {
        if (!isSuch(entry.warning.code)) continue
        entry.told = null
        entry.tried = null
      }
    },
    update(found, now, isPartial) {
      for (const entry of entries.values()) if (!isPartial || processCodes.has(entry.warning.code)) entry.isOn = false
      for (const one of found) {
        const known = entries.get(keyOf(one))
        const alarmedAt = one.level === 'info' ? (known?.alarmedAt ?? -Infinity) : now
        const warning = { ...one, since: known?.warning.since ?? now }
        const { told = null, tried = null } = known ?? {}
        entries.set(keyOf(one), { warning, alarmedAt, quietMs, isOn: true, tried, told })
      }
      for (const [key, entry] of entries) {
        if (entry.isOn && entry.warning.level !== 'info' && isPartial) entry.alarmedAt = now
        if (!entry.isOn && entry.told === null && isOver(entry, now)) entries.delete(key)
      }
    },
    current: () =>
      [...entries.values()]
        .filter(({ isOn }) => isOn)
        .map(({ warning }) => warning)
        .toSorted(byUrgency),
    tellWith(tell, now, isMine) {
      const due: { readonly key: string; readonly entry: Entry; readonly turn: Turn }[] = []
      for (const [key, entry] of entries) {
        const turn = isMine(entry.warning.code) ? nextTurn(entry, now) : null
        if (turn !== null) due.push({ key, entry, turn })
        else if (!isMine(entry.warning.code)) Object.assign(entry, { told: null, tried: null })
      }
      // Ends first, before new warnings use up the limit of the hour.
      for (const { key, entry, turn } of due.toSorted(
        (a, b) => Number(b.turn === 'resolved') - Number(a.turn === 'resolved'),
      )) {
        const at = entry.told?.at ?? now
        // Its end has the level that it was told of before.
        const level = turn === 'resolved' ? (entry.told?.level ?? 'warning') : entry.warning.level
        const isTold = tell({ warning: { ...entry.warning, level }, toldAt: at }, turn, entry.tried !== turn)
        entry.tried = turn
        if (!isTold) continue
        entry.told = turn === 'resolved' ? null : { at, level }
        if (turn === 'resolved' && !entry.isOn) entries.delete(key)
      }
    },
  }
}

function nextTurn(entry: Entry, now: number): Turn | null {
  const { warning, isOn, told } = entry
  const isAlarm = isOn && warning.level !== 'info'
  if (!isAlarm) return told !== null && isOver(entry, now) ? 'resolved' : null
  if (told === null) return 'begun'
  return warning.level === 'critical' && told.level === 'warning' ? 'critical' : null
}

/** A clock that was set back says nothing. */
function isOver(entry: Entry, now: number): boolean {
  return now - entry.alarmedAt >= entry.quietMs || now < entry.alarmedAt
}
