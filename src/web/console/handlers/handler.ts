import { formatCount, formatDuration } from '../../ui/format.ts'
import type { Tone } from '../../ui/status.tsx'
import type { HandlerJson } from '../../../admin/handlers.ts'

/** Runs that wait for a slot or for their turn. */
export function pendingOf({ waiting, ready, suspect }: HandlerJson): number {
  return waiting + ready + suspect
}

/** The state of a handler: the first that applies. */
export function stateOf(handler: HandlerJson): readonly [name: string, tone: Tone] {
  const { loaded, paused, shut, running, pace } = handler
  if (shut?.reason === 'breaker') return ['Breaker open', 'bad']
  if (!loaded) return ['Not loaded', 'warning']
  if (paused) return ['Paused', 'neutral']
  if (shut?.reason === 'pause') return ['Backing off', 'warning']
  if ((pace?.error_rate ?? 0) >= 0.5 && pendingOf(handler) + running > 0) return ['Failing', 'bad']
  return ['Running', 'good']
}

/** True if its state is a problem: its breaker is open, or half of its runs fail while more are pending. */
export function isFailing(handler: HandlerJson): boolean {
  return stateOf(handler)[1] === 'bad'
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

/** Failing handlers and sinks that send nothing come first; then missing ones, ones with errors, ones with dead letters. */
export function byTrouble(a: HandlerJson, b: HandlerJson): number {
  return troubleOf(b) - troubleOf(a) || a.name.localeCompare(b.name, 'en')
}

function troubleOf(handler: HandlerJson): number {
  const { shut, loaded, dead, held, pace } = handler
  if (shut !== null || isFailing(handler)) return 4
  if (!loaded && pendingOf(handler) > 0) return 3
  if ((pace?.error_rate ?? 0) > 0) return 2
  return dead + held > 0 ? 1 : 0
}
