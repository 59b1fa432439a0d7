import type { Database } from 'better-sqlite3'
import { versionOf } from '../port.ts'
import { createBudget } from './budget.ts'

interface StateRow {
  readonly key: string
  readonly version: number
  readonly expiresAt: number | null
}

/** No index is by version: it would cost every write, for a line in the view of one event. So only what is small is looked through. */
const largestState = 10_000
const mostKeys = 100
/** In a row the version comes behind the value, which may be large. */
const rowsPerLook = 64
const versionsPerRun = versionOf({ runId: 1, token: 0 })

/** Tells which keys of its state each of some runs of a handler wrote last: by its version each entry says who that was. */
export function createStateKeys(db: Database) {
  const entriesOf = db.prepare<[number, number], StateRow>(
    'SELECT key, version, expires_at AS expiresAt FROM state WHERE handler_id = ? ORDER BY key LIMIT ?',
  )
  /** Empty if the state is too large to look through. `now`: what has expired by then is not there. */
  return function stateKeysOf(handlerId: number, runIds: ReadonlySet<number>, now: number): Map<number, string[]> {
    const isEnough = createBudget({ rows: largestState + 1, rowsPerLook })
    const found = new Map<number, string[]>()
    for (const { key, version, expiresAt } of entriesOf.iterate(handlerId, largestState + 1)) {
      if (isEnough()) return new Map()
      const runId = Math.floor(version / versionsPerRun)
      if (!runIds.has(runId) || (expiresAt !== null && expiresAt <= now)) continue
      const keys = found.get(runId) ?? []
      found.set(runId, keys)
      if (keys.length < mostKeys) keys.push(key)
    }
    return found
  }
}
