import type { Database } from 'better-sqlite3'
import { decodeCursorPair, encodeCursor } from '../cursor.ts'
import { unknownError } from '../error-group.ts'
import {
  mostDeadIds,
  type DeadFilter,
  type DeadGroup,
  type DeadGroups,
  type DeadLetter,
  type DeadQuery,
  type DeadRunIds,
  type Page,
} from '../port.ts'
import { createBudget } from './budget.ts'
import { lastAttemptText, toError, type AttemptRow } from './attempts.ts'
import { createErrorGroups } from './error-groups.ts'
import { state } from './statements.ts'

/** Where a dead letter stands, newest first: when it died, and its run id. */
export type DeadPlace = readonly [endedAt: number, runId: number]

const newest: DeadPlace = [Number.MAX_SAFE_INTEGER, 0]

/** A part of the dead letters to collect run ids from. */
export interface DeadIdsPart {
  readonly filter: DeadFilter
  readonly behind: DeadPlace
}

export interface DeadIds {
  readonly runIds: readonly number[]
  /** Behind which one to go on; null: that was all. */
  readonly behind: DeadPlace | null
}

interface DeadRow {
  readonly id: number
  readonly event_id: string
  readonly type: string
  readonly handler: string
  readonly attempt: number
  readonly crashed: number
  readonly ended_at: number
  readonly state: number
}

/** What tells whether a dead letter is one that is looked for. */
interface Candidate {
  readonly id: number
  readonly endedAt: number
  readonly handlerId: number
  readonly seq: number
  readonly held: number
  /** Null if it died when this was not noted. */
  readonly errorGroup: string | null
}

/** More of them would be no list for people. */
const mostGroups = 500

type Group = { -readonly [K in keyof Omit<DeadGroup, 'sample'>]: DeadGroup[K] } & { readonly newestId: number }

/** Views of dead letters, newest first by the index of when they died. */
export function createDeadViews(db: Database) {
  const byId = db.prepare<[number], DeadRow>(
    `SELECT r.id, e.id AS event_id, e.type, h.name AS handler, r.attempt, r.crashed, r.ended_at, r.state
     FROM run r JOIN event e ON e.seq = r.event_seq JOIN handler h ON h.id = r.handler_id
     WHERE r.id = ? AND r.state >= ${state.held} AND r.state <= ${state.dead}`,
  )
  const lastAttemptOf = db.prepare<[number], AttemptRow>(lastAttemptText)
  const diedBefore = db.prepare<[number, number], Candidate>(
    `SELECT id, ended_at AS endedAt, handler_id AS handlerId, event_seq AS seq, state = ${state.held} AS held,
       error_group AS errorGroup FROM run INDEXED BY run_died
     WHERE state >= 4 AND state <= 5 AND (ended_at, id) < (?, ?) ORDER BY ended_at DESC, id DESC`,
  )
  const typeOf = db.prepare<[number], { type: string }>('SELECT type FROM event WHERE seq = ?')
  const handlers = db.prepare<[], { id: number; name: string }>('SELECT id, name FROM handler')

  const groupOfError = createErrorGroups(db)
  const groupOf = ({ id, errorGroup }: Candidate) => errorGroup ?? groupOfError(id)

  function createTest({ handler, type, group }: DeadFilter): (row: Candidate) => boolean {
    const handlerId = handlers.all().find(({ name }) => name === handler)?.id
    return (row) => {
      if (handler !== undefined && row.handlerId !== handlerId) return false
      if (group !== undefined && groupOf(row) !== group) return false
      return type === undefined || typeOf.get(row.seq)?.type === type
    }
  }

  function deadLetter(runId: number): DeadLetter | null {
    const row = byId.get(runId)
    if (row === undefined) return null
    const attempt = lastAttemptOf.get(row.id)
    return {
      runId: row.id,
      eventId: row.event_id,
      type: row.type,
      handler: row.handler,
      attempt: row.attempt,
      crashed: row.crashed,
      diedAt: row.ended_at,
      held: row.state === state.held,
      error: attempt ? toError(attempt) : unknownError,
    }
  }

  /** Where few of those that are looked at are looked for, the page comes back short, with a cursor. */
  function deadLetters(query: DeadQuery): Page<DeadLetter> {
    const isLookedFor = createTest(query)
    const isEnough = createBudget()
    const found: Candidate[] = []
    let next: Candidate | undefined
    for (const row of diedBefore.iterate(...(query.cursor === undefined ? newest : decodeCursorPair(query.cursor)))) {
      if (isLookedFor(row)) found.push(row)
      if (found.length > query.limit) next = found[query.limit - 1]
      else if (isEnough()) next = row
      if (next !== undefined) break
    }
    return {
      data: found.slice(0, query.limit).flatMap(({ id }) => deadLetter(id) ?? []),
      nextCursor: next === undefined ? null : encodeCursor(next.endedAt, next.id),
    }
  }

  function deadGroups(filter: DeadFilter): DeadGroups {
    const isLookedFor = createTest(filter)
    const isEnough = createBudget()
    const names = new Map(handlers.all().map(({ id, name }) => [id, name]))
    const groups = new Map<string, Group>()
    let isComplete = true
    for (const row of diedBefore.iterate(...newest)) {
      if (isLookedFor(row)) count(groups, row, names.get(row.handlerId) ?? '', groupOf(row))
      isComplete = !isEnough()
      if (!isComplete) break
    }
    const largest = [...groups.values()].toSorted((a, b) => b.count - a.count || b.lastDiedAt - a.lastDiedAt)
    const shown = largest.slice(0, mostGroups).flatMap(({ newestId, ...group }): DeadGroup[] => {
      const sample = deadLetter(newestId)
      return sample === null ? [] : [{ ...group, sample }]
    })
    return { groups: shown, isComplete: isComplete && groups.size <= mostGroups }
  }

  /** Run ids of one part of them. */
  function deadRunIds({ filter, behind }: DeadIdsPart): DeadIds {
    const isLookedFor = createTest(filter)
    const isEnough = createBudget()
    const runIds: number[] = []
    for (const row of diedBefore.iterate(...behind)) {
      if (isLookedFor(row)) runIds.push(row.id)
      if (isEnough()) return { runIds, behind: [row.endedAt, row.id] }
    }
    return { runIds, behind: null }
  }

  return { deadLetter, deadLetters, deadGroups, deadRunIds }
}

/** Collects the run ids of what a filter finds, part after part, so that other views have their turn between them. */
export async function collectDeadIds(
  filter: DeadFilter,
  part: (part: DeadIdsPart) => Promise<DeadIds>,
): Promise<DeadRunIds> {
  // One that is requeued and dies again meanwhile may come twice.
  const runIds = new Set<number>()
  for (let behind: DeadPlace | null = newest; behind !== null && runIds.size <= mostDeadIds;) {
    const found: DeadIds = await part({ filter, behind })
    for (const runId of found.runIds) runIds.add(runId)
    behind = found.behind
  }
  return {
    runIds: [...runIds].slice(0, mostDeadIds).toSorted((a, b) => a - b),
    isComplete: runIds.size <= mostDeadIds,
  }
}

function count(groups: Map<string, Group>, row: Candidate, handler: string, group: string): void {
  const { held, id, endedAt } = row
  const key = `${handler} ${group}`
  const known = groups.get(key)
  if (known === undefined) {
    groups.set(key, { handler, group, count: 1, held, firstDiedAt: endedAt, lastDiedAt: endedAt, newestId: id })
    return
  }
  known.count += 1
  known.held += held
  known.firstDiedAt = endedAt
}
