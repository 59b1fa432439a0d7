import type { OwnWarning } from './own-events.ts'

/** So often it is looked who is missing. */
export const goneMs = 10 * 60_000

/** Who of several processes is gone: whoever is missing at one look and at the next. No I/O. */
export interface Absences {
  isDue(now: number): boolean
  /** Of what was told by processes of themselves, what is to be told as over, for they are gone. */
  look(told: readonly OwnWarning[], present: ReadonlySet<string>, now: number): readonly OwnWarning[]
}

export function createAbsences(): Absences {
  let missing = new Set<string>()
  let lookedAt = -Infinity
  return {
    isDue: (now) => now - lookedAt >= goneMs,
    look(told, present, now) {
      const absent = told.filter(({ replica }) => replica === null || !present.has(replica))
      const gone = absent.filter((one) => missing.has(nameOf(one)))
      missing = new Set(absent.map(nameOf))
      lookedAt = now
      return gone
    },
  }
}

function nameOf({ warning, toldAt, replica }: OwnWarning): string {
  return JSON.stringify([warning.code, warning.subject, toldAt, replica])
}
