import type { Clock, Timer } from '../base/clock.ts'
import { messageOf } from '../base/errors.ts'
import type { Logger } from '../base/log.ts'

export interface PaceOptions {
  readonly clock: Clock
  /** How often per second. */
  readonly rate: number
  /** When the first is due, from now on. */
  readonly firstInMs: number
  readonly act: () => void
  /** Whether no more is wanted. */
  readonly isOver: () => boolean
  readonly log: Logger
}

/** How many are done at a stretch, where the rate asks for more than can be done. */
const mostPerTurn = 20

/** Triggers at a rate until it is over or cancelled. One that fails is told once, and more are tried. */
export function startPace(options: PaceOptions): Timer {
  const { clock, rate, firstInMs, act, isOver, log } = options
  let dueAt = clock.now() + firstInMs
  let isFailing = false
  let timer: Timer | undefined

  const tick = () => {
    try {
      for (let left = mostPerTurn; left > 0 && !isOver() && dueAt <= clock.now(); left--) {
        dueAt += 1000 / rate
        act()
        isFailing = false
      }
    } catch (error) {
      // Told once: at a high rate it would fill the log.
      if (!isFailing) log.error({ error: messageOf(error) }, 'no event could be triggered; more are tried')
      isFailing = true
    }
    arm()
  }
  const arm = () => {
    if (!isOver()) timer = clock.after(dueAt - clock.now(), tick)
  }
  arm()
  return { cancel: () => timer?.cancel() }
}
