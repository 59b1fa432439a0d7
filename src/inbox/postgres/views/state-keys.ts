import { versionOf } from '../../port.ts'
import type { Rows } from '../database.ts'
import { fromStored } from '../text.ts'

/** No index is by version: it would cost every write, for a line in the view of one event. So only what is small is looked through. */
const largestState = 10_000
const mostKeys = 100
const versionsPerRun = versionOf({ runId: 1, token: 0 })

const keysOf = `WITH looked AS MATERIALIZED (
    SELECT key, version / ${versionsPerRun} AS run_id, expires_at FROM inbox.state
    WHERE handler_id = $1::integer ORDER BY key LIMIT ${largestState + 1}
  ), written AS (
    SELECT run_id, key, row_number() OVER (PARTITION BY run_id ORDER BY key) AS nth FROM looked
    WHERE run_id = ANY ($2::bigint[]) AND (expires_at IS NULL OR expires_at > $3::bigint)
      AND (SELECT count(*) FROM looked) <= ${largestState}
  )
  SELECT run_id AS "runId", key FROM written WHERE nth <= ${mostKeys} ORDER BY run_id, key`

/** Tells which keys of its state each of some runs of a handler wrote last: by its version each entry says who that was. */
export function createStateKeys(db: Rows) {
  /** Empty if the state is too large to look through. `now`: what has expired by then is not there. */
  return async (handlerId: number, runIds: readonly number[], now: number): Promise<Map<number, readonly string[]>> => {
    const rows = await db.query<{ runId: number; key: string }>(keysOf, [handlerId, runIds, now])
    const byRun = Map.groupBy(rows, ({ runId }) => runId)
    return new Map([...byRun].map(([runId, own]) => [runId, own.map(({ key }) => fromStored(key))]))
  }
}
