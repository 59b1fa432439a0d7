import type { ViewPort } from '../../inbox/port.ts'
import type { DroppedJson, RequeuedJson } from '../answers/letters.ts'
import { dropDeadBody, parseBody, requeueBody } from '../bodies.ts'

/** What can be done with dead letters. `by`: who does it, for the audit. Asked again, both find nothing left to do. */
export interface DeadActs {
  /**
   * Takes `{"run_ids": […]}`, `{"all": true}` or `{"filter": {…}}`. With `dryRun` it only counts. A filter finds a bounded number of
   * them at once; `complete` says whether that was all.
   */
  requeueDead(body: unknown, by?: string): Promise<RequeuedJson>
  /** The same with a `reason`. */
  dropDead(body: unknown, by?: string): Promise<DroppedJson>
}

type DeadPort = Pick<ViewPort, 'requeueDead' | 'dropDead' | 'deadRunIds' | 'deadLetter' | 'stats'>

/** As the bodies of both say which. */
interface Which {
  readonly run_ids?: readonly number[]
  readonly all?: true
  readonly filter?: Parameters<ViewPort['deadRunIds']>[0]
}

/** How many are looked up at once. */
const atOnce = 200

export function createDeadActs(inbox: DeadPort): DeadActs {
  /** Run ids of what a filter finds are looked up first, so that the act itself is one. */
  async function resolve(which: Which): Promise<{ runs: 'all' | readonly number[]; complete: boolean }> {
    if (which.filter === undefined) return { runs: which.run_ids ?? 'all', complete: true }
    const { runIds, isComplete } = await inbox.deadRunIds(which.filter)
    return { runs: runIds, complete: isComplete }
  }

  async function count(which: Which): Promise<{ found: number; complete: boolean }> {
    const { runs, complete } = await resolve(which)
    return { found: which.filter === undefined ? await countGiven(which) : runs.length, complete }
  }

  async function countGiven(which: Which): Promise<number> {
    if (which.run_ids === undefined) {
      return (await inbox.stats()).handlers.reduce((sum, { dead, held }) => sum + dead + held, 0)
    }
    const ids = [...new Set(which.run_ids)]
    let found = 0
    for (let from = 0; from < ids.length; from += atOnce) {
      const letters = await Promise.all(ids.slice(from, from + atOnce).map((id) => inbox.deadLetter(id)))
      found += letters.filter((letter) => letter !== null).length
    }
    return found
  }

  return {
    async requeueDead(body, by) {
      const { dryRun, ...which } = parseBody(requeueBody, body)
      if (dryRun) {
        const { found, complete } = await count(which)
        return { requeued: found, complete, dry_run: true }
      }
      const { runs, complete } = await resolve(which)
      return { requeued: runs.length === 0 ? 0 : await inbox.requeueDead(runs, by), complete }
    },
    async dropDead(body, by) {
      const { dryRun, reason, ...which } = parseBody(dropDeadBody, body)
      if (dryRun) {
        const { found, complete } = await count(which)
        return { dropped: found, complete, dry_run: true }
      }
      const { runs, complete } = await resolve(which)
      return { dropped: runs.length === 0 ? 0 : await inbox.dropDead(runs, reason, by), complete }
    },
  }
}
