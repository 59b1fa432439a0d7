import type { AuditRecord } from '../port.ts'
import type { Rows } from './database.ts'
import { toStored, toStoredOrNull } from './text.ts'

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
