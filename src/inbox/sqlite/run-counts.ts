import type { Database } from 'better-sqlite3'
import { noCounts, type CountsByHandler, type HandlerCounts } from '../handler-counts.ts'
import { runStates, type RunCounts } from '../port.ts'
import { createBudget } from './budget.ts'
import { state } from './statements.ts'

type OpenRow = [id: number, key: string, state: number]
type Counts = { -readonly [K in keyof HandlerCounts]: HandlerCounts[K] }

/**
 * Counts the runs that are open or dead, by going through their indexes. It is done in parts, each of which takes a moment: with
 * a backlog of a million runs others want to read in between. A part goes on behind the last row of the one before, so that no
 * statement, which would hold up checkpoints, stays open between them.
 */
export function createRunCounts(db: Database) {
  const rows = <P extends unknown[], R>(text: string) => db.prepare<P, R>(text).raw()
  const generation = db.prepare<[number, number], { handlerId: number; replayId: number }>(
    `SELECT handler_id AS handlerId, replay_id AS replayId FROM run INDEXED BY run_open
     WHERE state < 5 AND (handler_id, replay_id) > (?, ?) ORDER BY handler_id, replay_id LIMIT 1`,
  )
  const open = `SELECT id, key, state FROM run INDEXED BY run_open WHERE state < 5 AND state < ${state.held}
     AND handler_id = ? AND replay_id = ?`
  const withoutKey = rows<[number, number, number], OpenRow>(`${open} AND key IS NULL AND id > ? ORDER BY id`)
  const ofKey = rows<[number, number, string, number], OpenRow>(`${open} AND key = ? AND id > ? ORDER BY id`)
  const ofLaterKeys = rows<[number, number, string], OpenRow>(`${open} AND key > ? ORDER BY key, id`)
  const dead = rows<[number], [id: number, handlerId: number, state: number]>(
    `SELECT id, handler_id, state FROM run INDEXED BY run_dead WHERE state >= 4 AND state <= 5 AND id > ? ORDER BY id`,
  )
  const few = (where: string) =>
    db.prepare<[number], { count: number }>(`SELECT count(*) AS count FROM (SELECT 1 FROM run ${where} LIMIT ?)`)
  const fewOpen = few('INDEXED BY run_open WHERE state < 5')
  const fewDead = few('INDEXED BY run_dead WHERE state >= 4 AND state <= 5')

  function* count(): Generator<undefined, CountsByHandler> {
    const byHandler = new Map<number, Counts>()
    const countsOf = (handlerId: number): Counts => {
      const known = byHandler.get(handlerId) ?? { ...noCounts }
      byHandler.set(handlerId, known)
      return known
    }
    let isEnough = createBudget()

    /** Where it was cut short; null: these were all. */
    function tally(counts: Counts, found: Iterable<OpenRow>): OpenRow | null {
      for (const row of found) {
        const [id, , code] = row
        add(counts, code)
        counts.oldestRun = Math.min(counts.oldestRun, id)
        if (isEnough()) return row
      }
      return null
    }
    let place = generation.get(0, -1)
    while (place !== undefined) {
      const { handlerId, replayId } = place
      const counts = countsOf(handlerId)
      let cut = tally(counts, withoutKey.iterate(handlerId, replayId, 0))
      while (cut !== null) {
        yield
        isEnough = createBudget()
        cut = tally(counts, withoutKey.iterate(handlerId, replayId, cut[0]))
      }
      cut = tally(counts, ofKey.iterate(handlerId, replayId, '', 0))
      cut ??= tally(counts, ofLaterKeys.iterate(handlerId, replayId, ''))
      while (cut !== null) {
        yield
        isEnough = createBudget()
        const [id, key]: OpenRow = cut
        cut =
          tally(counts, ofKey.iterate(handlerId, replayId, key, id)) ??
          tally(counts, ofLaterKeys.iterate(handlerId, replayId, key))
      }
      place = generation.get(handlerId, replayId)
    }
    for (let after: number | null = 0; after !== null;) {
      const behind: number = after
      after = null
      for (const [id, handlerId, code] of dead.iterate(behind)) {
        add(countsOf(handlerId), code)
        if (isEnough()) {
          after = id
          break
        }
      }
      if (after === null) continue
      yield
      isEnough = createBudget()
    }
    return byHandler
  }

  return {
    count,
    /** Whether there are no more than so many. */
    areFew: (most: number): boolean =>
      (fewOpen.get(most + 1)?.count ?? 0) <= most && (fewDead.get(most + 1)?.count ?? 0) <= most,
  }
}

function add(counts: Counts, code: number): void {
  const name = runStates[code]
  if (name !== undefined && name in counts) counts[name as keyof RunCounts] += 1
}
