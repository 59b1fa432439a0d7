import type { AttemptReport } from '../emulator/emulator.ts'
import { isDuplicate } from './demo-remarks.ts'
import type { LogEntry } from './demo-log.ts'

/** What has happened since the start, counted; retries are those of the sender and those of handlers. */
export interface Tally {
  attempted(report: AttemptReport): void
  logged(entry: LogEntry): void
  /** In one line. */
  text(): string
}

/** The newest so many count for the percentile. */
const mostLatencies = 500

export function createTally(): Tally {
  const latencies: number[] = []
  let [events, duplicates, retries, deadLetters] = [0, 0, 0, 0]

  return {
    attempted(report) {
      if (report.nextAttemptAt !== null) retries++
      if (report.status === null || report.status >= 300) return
      if (isDuplicate(report)) duplicates++
      else events++
      latencies.push(report.latencyMs)
      if (latencies.length > mostLatencies) latencies.shift()
    },
    logged({ handler, eventId, nextAt }) {
      if (handler === undefined || eventId === undefined) return
      if (nextAt === undefined) deadLetters++
      else retries++
    },
    text() {
      return [
        counted(events, 'event'),
        counted(duplicates, 'duplicate'),
        counted(retries, 'retry', 'retries'),
        counted(deadLetters, 'dead letter'),
        ...(latencies.length > 0 ? [`acknowledged within ${percentile(latencies, 0.99)} ms (p99)`] : []),
      ].join(' · ')
    },
  }
}

/** A number with what is counted: `1 event`, `2 events`. */
export function counted(count: number, one: string, several = `${one}s`): string {
  return `${count} ${count === 1 ? one : several}`
}

function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.max(0, Math.ceil(values.length * share) - 1)] ?? 0
}
