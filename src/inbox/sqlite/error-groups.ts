import type { Database } from 'better-sqlite3'
import { errorGroupOf, unknownError } from '../error-group.ts'
import { lastAttemptText, toError, type AttemptRow } from './attempts.ts'

/** Gives the group of a dead letter, by its run id, from its attempts: one that died before groups were stored has none in its row. */
export function createErrorGroups(db: Database): (runId: number) => string {
  const lastAttemptOf = db.prepare<[number], AttemptRow>(lastAttemptText)
  return (runId) => {
    const attempt = lastAttemptOf.get(runId)
    return errorGroupOf(attempt ? toError(attempt) : unknownError)
  }
}
