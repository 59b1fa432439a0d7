import { formatCount, formatDuration } from '../../ui/format.ts'
import type { Tone } from '../../ui/status.tsx'
import type { HandlerJson } from '../../../admin/handlers.ts'

/** Runs that wait for a slot or for their turn. */
export function pendingOf({ waiting, ready, suspect }: HandlerJson): number {
  return waiting + ready + suspect
}

/** The state of a handler: the first that applies. */
export function stateOf({ loaded, paused, shut }: HandlerJson): readonly [name: string, tone: Tone] {
  if (shut?.reason === 'breaker') return ['Breaker open', 'bad']
  if (!loaded) return ['Not loaded', 'warning']
  if (paused) return ['Paused', 'neutral']
  if (shut?.reason === 'pause') return ['Backing off', 'warning']
  return ['Running', 'good']
}

/** Share of the last minute's attempts that failed; null: there were none. */
export function errorRateOf({ pace }: HandlerJson): number | null {
  if (pace === null || pace.per_second === 0) return null
  return Math.min(1, pace.failures_per_second / pace.per_second)
}

/** Name and message of the latest known error. */
export function lastErrorOf({ shut, pace }: HandlerJson): string | null {
  if (shut?.error !== undefined && shut.error !== null) return shut.error
  const error = pace?.last_error
  return error === null || error === undefined ? null : `${error.name}: ${error.message}`
}

/** Runs at once: `8`, or `3 (own: 8)` if an operator has set it. */
export function concurrencyOf({ settings, set_concurrency: set }: HandlerJson): string {
  const own = settings === null ? '–' : formatCount(settings.own_concurrency)
  return set === null ? own : `${formatCount(set)} (own: ${own})`
}

export function retriesOf({ settings }: HandlerJson): string {
  if (settings === null) return '–'
  if (settings.retry === null) return 'by a function'
  const { attempts, base_ms: base, cap_ms: cap } = settings.retry
  return `${attempts} attempts, ${formatDuration(base)} doubling to ${formatDuration(cap)}`
}

/** Handlers with open breakers first, then the failing, the dead, the waiting. */
export function byTrouble(a: HandlerJson, b: HandlerJson): number {
  return troubleOf(b) - troubleOf(a) || a.name.localeCompare(b.name, 'en')
}

function troubleOf(handler: HandlerJson): number {
  const { shut, loaded, dead, held } = handler
  if (shut !== null) return 4
  if (!loaded && pendingOf(handler) > 0) return 3
  if ((errorRateOf(handler) ?? 0) > 0) return 2
  return dead + held > 0 ? 1 : 0
}
