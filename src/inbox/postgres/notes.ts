import type { AuditRecord } from '../port.ts'
import type { Rows, Database } from './database.ts'
import { toStored, toStoredOrNull } from './text.ts'
import type { ActionResult, AuditNote, ActionStep } from '../operator-actions.ts'

/** Writes an audit record in the transaction of the audited action, and returns its id. `by`: the caller; undefined for the inbox itself and for commands. */
export async function note(
  trx: Rows,
  action: AuditRecord['action'],
  detail: AuditRecord['detail'],
  by: string | undefined,
): Promise<number> {
  const [row] = await trx.query<{ id: number }>(
    `INSERT INTO inbox.audit (at, action, detail, by_whom) VALUES (inbox.now_ms(), $1, $2, $3) RETURNING id`,
    [action, toStored(JSON.stringify(detail)), toStoredOrNull(by ?? null)],
  )
  if (row === undefined) throw new Error('the audit table returned no id')
  return row.id
}

/**
 * Does one step of an action, starting at `from`. It may read first. Returns the work for an exclusive transaction, or its result if there
 * is nothing to change.
 */
export type Step = (from: number) => Promise<ActionStep | ((trx: Rows) => Promise<ActionStep>)>

/**
 * Runs a large action, one transaction per step. The first step that changes anything writes the audit record, unless `noting` is null, and
 * each later one updates its total, so an interrupted action shows how far it got. `noted`: id of a record that is already written.
 */
export async function eachStep(
  db: Database,
  noting: AuditNote | null,
  step: Step,
  noted: number | null = null,
): Promise<ActionResult> {
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
      if (known === null) return { total, noted: await note(trx, noting.action, detail, noting.by), after }
      await trx.query(`UPDATE inbox.audit SET detail = $1 WHERE id = $2`, [toStored(JSON.stringify(detail)), known])
      return { total, noted: known, after }
    })
  }
  return { total: progress.total, noted: progress.noted }
}
