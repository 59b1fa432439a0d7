import type { AuditRecord } from '../port.ts'
import type { Rows, Database } from './database.ts'
import { toStored, toStoredOrNull } from './text.ts'
import type { ActionResult, AuditNote, ActionStep } from '../operator-actions.ts'

/** Writes into the audit; to be called in the transaction of what it is about. */
export interface Notes {
  /** Gives the id of the note. `by`: who did it; nothing: this program itself, or a command. */
  note(trx: Rows, action: AuditRecord['action'], detail: AuditRecord['detail'], by: string | undefined): Promise<number>
  /** Says something else in a note that was written before, of an act that went on. */
  updateNote(trx: Rows, id: number, detail: AuditRecord['detail']): Promise<void>
}

export function createNotes(): Notes {
  return {
    async note(trx, action, detail, by) {
      const [row] = await trx.query<{ id: number }>(
        `INSERT INTO inbox.audit (at, action, detail, by_whom) VALUES (inbox.now_ms(), $1, $2, $3) RETURNING id`,
        [action, toStored(JSON.stringify(detail)), toStoredOrNull(by ?? null)],
      )
      if (row === undefined) throw new Error('the audit gave no number for its note')
      return row.id
    },
    async updateNote(trx, id, detail) {
      await trx.query(`UPDATE inbox.audit SET detail = $1 WHERE id = $2`, [toStored(JSON.stringify(detail)), id])
    },
  }
}

/**
 * Does a bounded piece of an act, from a place on: it may look first, and gives the work for a transaction that is alone, or, where
 * there is none, what it came to.
 */
export type Step = (from: number) => Promise<ActionStep | ((trx: Rows) => Promise<ActionStep>)>

export type EachStep = (noting: AuditNote | null, step: Step, noted?: number | null) => Promise<ActionResult>

/**
 * A large act, step after step, each in a transaction of its own. It is noted in that of the first one that changed anything, and
 * what it came to is said anew in that of each later one: so of one that is interrupted it is known how far it came.
 */
export function createSteps(db: Database, notes: Notes): EachStep {
  return async (noting, step, noted = null) => {
    let so: ActionResult & { readonly after: number | null } = { total: 0, noted, after: 0 }
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
        await notes.updateNote(trx, known, detail)
        return { total, noted: known, after }
      })
    }
    return { total: so.total, noted: so.noted }
  }
}
