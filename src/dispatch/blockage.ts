import type { Clock } from '../base/clock.ts'
import { createLogLimit } from '../base/log-limit.ts'
import type { Logger } from '../base/log.ts'
import type { Pulse } from './pulse.ts'
import type { RunnerTiming } from './runner-protocol.ts'

export interface BlockageOptions {
  readonly pulse: Pulse
  /** Who may be blocking the thread at this moment. */
  readonly candidates: () => readonly string[]
  readonly timing: Pick<RunnerTiming, 'watchMs' | 'blockedWarnMs' | 'blockedGraceMs'>
  readonly clock: Clock
  readonly log: Logger
  /** Called when it has been blocked for so long that it is given up. */
  readonly onLost: (reason: string) => void
}

/**
 * Watches whether a thread is blocked: warns once while it is, and once more when it no longer is, each time naming who did it.
 * Silence is counted in looks, not read from a clock: after this very process was stopped for a while, nobody is to blame.
 */
export function watchForBlockage(options: BlockageOptions): { close(): void } {
  const { pulse, timing, clock, log } = options
  const { watchMs, blockedWarnMs, blockedGraceMs } = timing
  const limit = createLogLimit(clock)
  let lastBeats = 0
  let silentMs = 0
  let blamed: readonly string[] | undefined

  const warn = (fields: object, message: string) => {
    const line = limit()
    if (line !== null) log.warn({ ...fields, ...line }, message)
  }

  function look(): void {
    const { beats, longestTimeoutMs } = pulse
    const gapMs = pulse.takeLongestGapMs()
    silentMs = beats === lastBeats ? silentMs + watchMs : 0
    lastBeats = beats
    if (beats === 0) return
    if (blamed !== undefined && silentMs === 0) {
      warn({ ...nameFields(blamed), blockedMs: gapMs }, 'a handler blocked its thread')
      blamed = undefined
    }
    if (blamed === undefined && silentMs >= blockedWarnMs) {
      blamed = options.candidates()
      warn({ ...nameFields(blamed), silentMs }, 'a handler blocks its thread')
    }
    if (silentMs > longestTimeoutMs + blockedGraceMs) {
      const who = blamed?.length === 1 ? `handler ${blamed[0]}` : 'a handler'
      options.onLost(`${who} blocked it for ${silentMs} ms`)
    }
  }

  const watch = setInterval(look, watchMs).unref()
  return { close: () => clearInterval(watch) }
}

/** Log fields that name the handler responsible, or the candidates if there are several. */
export function nameFields(names: readonly string[]): object {
  return names.length > 1 ? { oneOf: names } : { handler: names[0] }
}
