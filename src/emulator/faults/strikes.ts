import type { RandomStream } from '../random.ts'
import type { FaultRule } from './schema.ts'

/** How often one rule strikes, and has struck. */
export interface Strikes {
  /** Whether the next that matches is struck; it counts. `draw` gives what chance is taken from. */
  next(draw: () => RandomStream): boolean
  count(): number
}

/** By rate, by script, or always; `times` at most. */
export function createStrikes(rule: Pick<FaultRule, 'rate' | 'script' | 'scriptRepeats' | 'times'>): Strikes {
  const { rate = 1, script, scriptRepeats = false, times = Infinity } = rule
  let struck = 0
  let step = 0

  const isNextStep = (steps: string) => {
    const at = scriptRepeats ? step % steps.length : step
    step++
    return steps[at] === 'x'
  }
  const isDrawn = (draw: () => RandomStream) => rate >= 1 || (rate > 0 && draw().uniform() < rate)

  return {
    next(draw) {
      if (struck >= times) return false
      const isStruck = script === undefined ? isDrawn(draw) : isNextStep(script)
      if (isStruck) struck++
      return isStruck
    },
    count: () => struck,
  }
}
