import { addDue } from '../sorted-list.ts'
import type { Core } from './core.ts'
import { WorldRefusal } from './port.ts'

const largestActivity = 100_000
/** As good as none: what would be done in a minute is done in two years. */
const leastActivity = 0.000_001

/** How busy everybody is; 0 stands for nobody acting on their own. Throws `WorldRefusal` for what is no such number. */
export function readActivity(factor: number): number {
  if (factor >= 0 && factor <= largestActivity) return Math.max(factor, leastActivity)
  throw new WorldRefusal(`activity: expected a number from 0 to ${largestActivity}, received ${factor}`)
}

/** Everybody gets busier or calmer: also what is planned already comes sooner or later. */
export function changeActivity({ state }: Core, wanted: number): void {
  const factor = readActivity(wanted)
  const ratio = state.activity / factor
  const planned = state.agenda.splice(0)
  state.activity = factor
  for (const task of planned) {
    const at = task.isPaced ? state.now + Math.round((task.at - state.now) * ratio) : task.at
    addDue(state.agenda, { ...task, at })
  }
}
