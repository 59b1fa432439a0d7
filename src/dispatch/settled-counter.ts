import { countDuration, noDurations } from '../base/durations.ts'
import type { AttemptResult } from './dispatcher.ts'
import type { SettledCount } from './runner-protocol.ts'

type Mutable<T> = { -readonly [K in keyof T]: T[K] }

export interface SettledCounter {
  add(handler: string, kind: AttemptResult, durationMs: number): void
  /** What was counted since it was last taken. */
  take(): SettledCount[]
}

/** Counts attempts that ended, to be reported together. */
export function createSettledCounter(): SettledCounter {
  const counts = new Map<string, Mutable<SettledCount> & { readonly durations: number[] }>()
  return {
    add(handler, kind, durationMs) {
      const name = `${kind} ${handler}`
      const entry = counts.get(name) ?? { handler, kind, count: 0, totalMs: 0, durations: noDurations() }
      entry.count++
      entry.totalMs += durationMs
      countDuration(entry.durations, durationMs)
      counts.set(name, entry)
    },
    take() {
      const taken = [...counts.values()]
      counts.clear()
      return taken
    },
  }
}
