import type { Database } from 'better-sqlite3'
import { errorGroupOf, unknownError } from '../error-group.ts'

/** Gives the group of a dead letter, by its run id, from its attempts: one that died before groups were stored has none in its row. */
export function createErrorGroups(db: Database): (runId: number) => string {
  const lastErrorOf = db.prepare<[number], { name: string; message: string }>(
    `SELECT error_name AS name, error_message AS message FROM attempt INDEXED BY attempt_run WHERE run_id = ? ORDER BY rowid DESC LIMIT 1`,
  )
  return (runId) => errorGroupOf(lastErrorOf.get(runId) ?? unknownError)
}
