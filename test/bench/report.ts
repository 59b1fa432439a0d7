import { renderTable } from '../../src/cli/table.ts'
import { ratioOf, type Measured } from './race.ts'
import type { MeasuredScheme } from './schemes.ts'
import type { Start } from './work-off.ts'

/** A required ratio of two speeds. It is printed, not enforced: a busy machine must not fail a build. */
export interface Goal {
  readonly name: string
  readonly against: string
  readonly ratio: number
  readonly atLeast: number
}

export interface Report {
  readonly events: number
  readonly ceiling: Measured
  readonly results: readonly Measured[]
  readonly goals: readonly Goal[]
  readonly start: Start | undefined
  readonly schemes: readonly MeasuredScheme[]
}

export function renderJson({ ceiling, results, ...rest }: Report): string {
  const rows = results.map((result) => ({ ...result, ratio: ratioOf(result, ceiling) }))
  return JSON.stringify({ ...rest, ceiling: ceiling.perSecond, results: rows })
}

export function renderText({ ceiling, results, goals, start, schemes }: Report): string {
  const table = renderTable(
    ['', 'events/s', 'ratio', 'p50 ms', 'p99 ms', 'max ms', 'cpu µs/event', 'peak MB', 'refused'],
    results.map((result) => [
      result.name,
      result.perSecond.toFixed(0),
      ratioOf(result, ceiling).toFixed(2),
      result.p50Ms.toFixed(2),
      result.p99Ms.toFixed(2),
      result.maxMs.toFixed(1),
      result.cpuMicros.toFixed(1),
      result.peakMemoryMb.toFixed(0),
      String(result.refused),
    ]),
  )
  const lines = [table, ...results.map(renderThreads), ...goals.map(renderGoal)]
  if (start !== undefined) lines.push(renderStart(start))
  const ofSchemes = schemes.map(({ scheme, micros }) => [scheme, micros.toFixed(1)])
  lines.push(renderTable(['signature scheme', 'cpu µs to verify'], ofSchemes))
  return lines.join('\n')
}

/** Skips threads below a microsecond per event. */
function renderThreads({ name, threadMicros }: Measured): string {
  const threads = Object.entries(threadMicros).filter(([, micros]) => micros >= 1)
  const sorted = threads.toSorted(([, one], [, other]) => other - one)
  return `cpu µs/event, ${name}: ${sorted.map(([thread, micros]) => `${thread} ${micros.toFixed(1)}`).join(', ')}`
}

function renderGoal({ name, against, ratio, atLeast }: Goal): string {
  return `${name}: ${ratio.toFixed(2)} of ${against} (goal ≥ ${atLeast})`
}

function renderStart({ runs, readyMs, firstVerdictsMs, perSecond, peakMemoryMb }: Start): string {
  return (
    `start on ${runs} pending runs: ready after ${readyMs.toFixed(0)} ms, first results after ` +
    `${firstVerdictsMs.toFixed(0)} ms, then ${perSecond.toFixed(0)} runs/s, peak ${peakMemoryMb.toFixed(0)} MB`
  )
}
