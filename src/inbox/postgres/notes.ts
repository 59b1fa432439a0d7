import type { Clock } from '../../base/clock.ts'
import type { AuditRecord } from '../port.ts'
import type { Rows } from './database.ts'
import { toStored, toStoredOrNull } from './text.ts'

/** Writes into the audit; to be called in the transaction of what it is about. */
export interface Notes {
  /** Gives the id of the note. `by`: who did it; nothing: this program itself, or a command. */
  note(trx: Rows, action: AuditRecord['action'], detail: AuditRecord['detail'], by: string | undefined): Promise<number>
  /** Says something else in a note that was written before, of an act that went on. */
  noteAnew(trx: Rows, id: number, detail: AuditRecord['detail']): Promise<void>
}

export function createNotes(clock: Clock): Notes {
  return {
    async note(trx, action, detail, by) {
      const [row] = await trx.query<{ id: number }>(
        `INSERT INTO inbox.audit (at, action, detail, by_whom) VALUES ($1, $2, $3, $4) RETURNING id`,
        [clock.now(), action, toStored(JSON.stringify(detail)), toStoredOrNull(by ?? null)],
      )
      if (row === undefined) throw new Error('the audit gave no number for its note')
      return row.id
    },
    async noteAnew(trx, id, detail) {
      await trx.query(`UPDATE inbox.audit SET detail = $1 WHERE id = $2`, [toStored(JSON.stringify(detail)), id])
    },
  }
}
