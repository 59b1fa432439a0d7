import { systemClock, type Clock } from '../clock.ts'

/** A world clock that starts at the present and runs `speed` times as fast as `base`. */
export function createScaledClock(speed: number, base: Clock = systemClock): Clock {
  const startedAt = base.now()
  return {
    now: () => startedAt + (base.now() - startedAt) * speed,
    after: (ms, fn) => base.after(ms / speed, fn),
    random: () => base.random(),
  }
}
