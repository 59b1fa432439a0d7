import type { AuditRecord } from '../port.ts'
import type { Rows, Database } from './database.ts'
import { toStored, toStoredOrNull } from './text.ts'
import type { ActionResult, AuditNote, ActionStep } from '../operator-actions.ts'

/** Writes audit records. Call in the transaction of the audited action. */
export interface Notes {
  /** Returns the id of the record. `by`: the caller; undefined for the inbox itself and for commands. */
  note(trx: Rows, action: AuditRecord['action'], detail: AuditRecord['detail'], by: string | undefined): Promise<number>
  /** Updates the record of an action in progress. */
  updateNote(trx: Rows, id: number, detail: AuditRecord['detail']): Promise<void>
}

export function createNotes(): Notes {
  return {
    async note(trx, action, detail, by) {
      const [row] = await trx.query<{ id: number }>(
        `INSERT INTO inbox.audit (at, action, detail, by_whom) VALUES (inbox.now_ms(), $1, $2, $3) RETURNING id`,
        [action, toStored(JSON.stringify(detail)), toStoredOrNull(by ?? null)],
      )
      if (row === undefined) throw new Error('the audit table returned no id')
      return row.id
    },
    async updateNote(trx, id, detail) {
      await trx.query(`UPDATE inbox.audit SET detail = $1 WHERE id = $2`, [toStored(JSON.stringify(detail)), id])
    },
  }
}

/**
 * Does one step of an action, starting at `from`. It may read first. Returns the work for an exclusive transaction, or its result if there
 * is nothing to change.
 */
export type Step = (from: number) => Promise<ActionStep | ((trx: Rows) => Promise<ActionStep>)>

export type EachStep = (noting: AuditNote | null, step: Step, noted?: number | null) => Promise<ActionResult>

/**
 * Runs a large action, one transaction per step. The first step that changes anything writes the audit record, and each later one
 * updates its total, so an interrupted action shows how far it got.
 */
export function createSteps(db: Database, notes: Notes): EachStep {
  return async (noting, step, noted = null) => {
    let progress: ActionResult & { readonly after: number | null } = { total: 0, noted, after: 0 }
    while (progress.after !== null) {
      const { total: before, noted: known, after: from } = progress
      const work = await step(from)
      if (typeof work !== 'function') {
        progress = { total: before + work.done, noted: known, after: work.after }
        continue
      }
      progress = await db.alone(async (trx) => {
        const { done, after } = await work(trx)
        const total = before + done
        if (done === 0 || noting === null) return { total, noted: known, after }
        const detail = noting.detail(total)
        if (known === null) return { total, noted: await notes.note(trx, noting.action, detail, noting.by), after }
        await notes.updateNote(trx, known, detail)
        return { total, noted: known, after }
      })
    }
    return { total: progress.total, noted: progress.noted }
  }
}
