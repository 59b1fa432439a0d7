import type { AuditRecord } from '../port.ts'
import type { SourceKey, SourceKeyPort } from '../types.ts'
import type { Database, Rows } from './database.ts'
import { toStoredJson } from './text.ts'
import { InboxError } from '../../base/errors.ts'

/** Writes an audit record in the transaction of the audited action, and returns its id. `by`: the caller; undefined for the inbox itself and for commands. */
export async function note(
  trx: Rows,
  action: AuditRecord['action'],
  detail: AuditRecord['detail'],
  by: string | undefined,
): Promise<number> {
  const [row] = await trx.query<{ id: number }>(
    `INSERT INTO inbox.audit (at, action, detail, by_whom) VALUES (inbox.now_ms(), $1, $2, $3) RETURNING id`,
    [action, JSON.stringify(detail), by ?? null],
  )
  if (row === undefined) throw new Error('the audit table returned no id')
  return row.id
}

/** Fetched public keys, shared by all replicas. */
export function createSourceKeys(db: Database): SourceKeyPort {
  return {
    sourceKeys: (source) => db.query<SourceKey>('SELECT id, spki FROM inbox.source_key WHERE source = $1', [source]),
    storeSourceKeys: (source, keys) =>
      db.exclusively(async (trx) => {
        await trx.query('DELETE FROM inbox.source_key WHERE source = $1', [source])
        await trx.query(
          'INSERT INTO inbox.source_key (source, id, spki) SELECT $1, k.id, k.spki FROM json_to_recordset($2::json) AS k(id text, spki text)',
          [source, toStoredJson(keys)],
        )
      }),
  }
}

/** Stores a value in `inbox.meta`. */
export async function setMeta(rows: Rows, name: string, value: number): Promise<void> {
  await rows.query(
    `INSERT INTO inbox.meta (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    [name, value],
  )
}

/** Throws `database_corrupt` if an earlier version was interrupted while it moved a SQLite file to the database. */
export async function refuseHalfMoved(db: Rows): Promise<void> {
  const [mark] = await db.query(`SELECT 1 FROM inbox.meta WHERE name = 'moving_at'`)
  if (mark === undefined) return
  throw new InboxError(
    'database_corrupt',
    'an earlier version was interrupted while it moved a SQLite file to this database: DROP SCHEMA inbox CASCADE, and move again',
  )
}
