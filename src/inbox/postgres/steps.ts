import type { Done, Noting, StepDone } from '../acts.ts'
import type { Database, Rows } from './database.ts'
import type { Notes } from './notes.ts'

/**
 * Does a bounded piece of an act, from a place on: it may look first, and gives the work for a transaction that is alone, or, where
 * there is none, what it came to.
 */
export type Step = (from: number) => Promise<StepDone | ((trx: Rows) => Promise<StepDone>)>

export type EachStep = (noting: Noting | null, step: Step, noted?: number | null) => Promise<Done>

/**
 * A large act, step after step, each in a transaction of its own. It is noted in that of the first one that changed anything, and
 * what it came to is said anew in that of each later one: so of one that is interrupted it is known how far it came.
 */
export function createSteps(db: Database, notes: Notes): EachStep {
  return async (noting, step, noted = null) => {
    let so: Done & { readonly after: number | null } = { total: 0, noted, after: 0 }
    while (so.after !== null) {
      const { total: before, noted: known, after: from } = so
      const work = await step(from)
      if (typeof work !== 'function') {
        so = { total: before + work.done, noted: known, after: work.after }
        continue
      }
      so = await db.alone(async (trx) => {
        const { done, after } = await work(trx)
        const total = before + done
        if (done === 0 || noting === null) return { total, noted: known, after }
        const detail = noting.detail(total)
        if (known === null) return { total, noted: await notes.note(trx, noting.action, detail, noting.by), after }
        await notes.noteAnew(trx, known, detail)
        return { total, noted: known, after }
      })
    }
    return { total: so.total, noted: so.noted }
  }
}
