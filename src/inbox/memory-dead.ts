import { decodeCursorPair, encodeCursor } from './cursor.ts'
import { errorGroupOf } from './error-group.ts'
import type { MemoryRun } from './memory-runs.ts'
import {
  mostDeadIds,
  type DeadFilter,
  type DeadGroup,
  type DeadLetter,
  type DeadQuery,
  type DeadRunIds,
  type Page,
} from './port.ts'

/** Views of the dead letters of a memory inbox. */
export function createMemoryDead(dead: ReadonlyMap<number, MemoryRun>) {
  const newestFirst = (filter: DeadFilter) =>
    [...dead.values()]
      .map(toDeadLetter)
      .filter((letter) => isLookedFor(letter, filter))
      .toSorted((a, b) => b.diedAt - a.diedAt || b.runId - a.runId)

  return {
    one(runId: number): DeadLetter | null {
      const run = dead.get(runId)
      return run ? toDeadLetter(run) : null
    },
    page({ limit, cursor, ...filter }: DeadQuery): Page<DeadLetter> {
      const [at, below] = cursor === undefined ? [Infinity, 0] : decodeCursorPair(cursor)
      const found = newestFirst(filter).filter(({ diedAt, runId }) => diedAt < at || (diedAt === at && runId < below))
      const data = found.slice(0, limit)
      const last = found.length > limit ? data.at(-1) : undefined
      return { data, nextCursor: last === undefined ? null : encodeCursor(last.diedAt, last.runId) }
    },
    groups(filter: DeadFilter): DeadGroup[] {
      const byGroup = Map.groupBy(newestFirst(filter), ({ handler, error }) => `${handler} ${errorGroupOf(error)}`)
      return [...byGroup.values()]
        .flatMap((letters) => toGroup(letters) ?? [])
        .toSorted((a, b) => b.count - a.count || b.lastDiedAt - a.lastDiedAt)
    },
    runIds(filter: DeadFilter): DeadRunIds {
      const found = newestFirst(filter).map(({ runId }) => runId)
      return {
        runIds: found.slice(0, mostDeadIds).toSorted((a, b) => a - b),
        isComplete: found.length <= mostDeadIds,
      }
    },
  }
}

function isLookedFor({ handler, type, error }: DeadLetter, filter: DeadFilter): boolean {
  return (
    (filter.handler === undefined || handler === filter.handler) &&
    (filter.type === undefined || type === filter.type) &&
    (filter.group === undefined || errorGroupOf(error) === filter.group)
  )
}

function toGroup(newestFirst: readonly DeadLetter[]): DeadGroup | null {
  const [newest, oldest] = [newestFirst[0], newestFirst.at(-1)]
  if (newest === undefined || oldest === undefined) return null
  return {
    handler: newest.handler,
    group: errorGroupOf(newest.error),
    count: newestFirst.length,
    held: newestFirst.filter(({ held }) => held).length,
    firstDiedAt: oldest.diedAt,
    lastDiedAt: newest.diedAt,
    sample: newest,
  }
}

function toDeadLetter({ runId, handler, attempt, crashed, event, state, death }: MemoryRun): DeadLetter {
  if (!death) throw new Error(`run ${runId} is no dead letter`)
  const { id: eventId, type } = event
  const died = { diedAt: death.at, held: state === 'held', error: death.error }
  return { runId, eventId, type, handler, attempt, crashed, ...died }
}
