import { errorGroupOf, unknownError } from '../../error-group.ts'
import type { DeadFilter } from '../../port.ts'
import type { Rows } from '../database.ts'
import { state } from '../progress.ts'
import { toStored } from '../text.ts'
import { compose, rowsPerStatement, type Parameter } from './event-rows.ts'

/** Where a dead letter stands, newest first: when it died, and its run id. */
export type DeadPlace = readonly [endedAt: number, runId: number]

export const newestDead: DeadPlace = [Number.MAX_SAFE_INTEGER, 0]

export interface DeadRun {
  readonly id: number
  readonly endedAt: number
}

/** Dead letters of one handler in one group, of those that one statement looked at. */
export interface GroupRow {
  readonly handlerId: number
  /** As it is stored. */
  readonly group: string
  readonly count: number
  readonly held: number
  readonly firstDiedAt: number
  readonly lastDiedAt: number
  readonly newestId: number
}

/** What one statement found among the dead letters that it looked at. */
export interface DeadPart<T> {
  readonly found: readonly T[]
  /** How many it looked at. */
  readonly looked: number
  /** Behind which one to go on; null: there are no more. */
  readonly behind: DeadPlace | null
}

interface EndRow {
  readonly looked: number
  readonly lastEndedAt: number
  readonly lastId: number
}

const group = `coalesce(l.error_group, ${quote(errorGroupOf(unknownError))})`

/** Looks at dead letters, newest first by the index of when they died, a bounded number with each statement. */
export function createDeadParts(db: Rows) {
  function looking([endedAt, id]: DeadPlace, most: number, parameter: Parameter): string {
    return `looked AS MATERIALIZED (
        SELECT id, ended_at, handler_id, state, event_seq, error_group FROM inbox.run
        WHERE state >= 4 AND state <= 5 AND (ended_at, id) < (${parameter(endedAt)}::bigint, ${parameter(id)}::bigint)
        ORDER BY ended_at DESC, id DESC LIMIT ${parameter(most)}::bigint
      ), place AS (
        SELECT (SELECT count(*) FROM looked) AS looked, ended_at AS "lastEndedAt", id AS "lastId"
        FROM looked ORDER BY ended_at, id LIMIT 1
      )`
  }

  function conditionsOf(filter: DeadFilter, parameter: Parameter): string {
    const conditions = ['true']
    if (filter.handler !== undefined) {
      conditions.push(
        `l.handler_id = (SELECT h.id FROM inbox.handler h WHERE h.name = ${parameter(toStored(filter.handler))})`,
      )
    }
    if (filter.group !== undefined) conditions.push(`${group} = ${parameter(toStored(filter.group))}`)
    if (filter.type !== undefined) {
      conditions.push(
        `(SELECT e.type FROM inbox.event e WHERE e.seq = l.event_seq) = ${parameter(toStored(filter.type))}`,
      )
    }
    return conditions.join(' AND ')
  }

  /** Runs `select` of what was looked at; each of its rows comes with the end of the part, which also comes alone where there are none. */
  async function lookAt<T>(
    most: number,
    behind: DeadPlace,
    select: (parameter: Parameter) => string,
  ): Promise<DeadPart<T>> {
    const { text, values } = compose(
      (parameter) =>
        `WITH ${looking(behind, most, parameter)} SELECT p.*, to_json(f) AS found FROM place p LEFT JOIN (${select(parameter)}) f ON true`,
    )
    const rows = await db.query<EndRow & { found: T | null }>(text, values)
    const [end] = rows
    return {
      found: rows.flatMap(({ found }) => (found === null ? [] : [found])),
      looked: end?.looked ?? 0,
      behind: end === undefined || end.looked < most ? null : [end.lastEndedAt, end.lastId],
    }
  }

  return {
    /** Those of the next `most` that a filter finds, newest first. */
    async places(filter: DeadFilter, behind: DeadPlace, most = rowsPerStatement): Promise<DeadPart<DeadRun>> {
      const part = await lookAt<DeadRun>(
        most,
        behind,
        (parameter) => `SELECT l.id, l.ended_at AS "endedAt" FROM looked l WHERE ${conditionsOf(filter, parameter)}`,
      )
      return { ...part, found: part.found.toSorted((a, b) => b.endedAt - a.endedAt || b.id - a.id) }
    },
    /** The groups of those of the next that a filter finds. */
    groups(filter: DeadFilter, behind: DeadPlace): Promise<DeadPart<GroupRow>> {
      return lookAt(
        rowsPerStatement,
        behind,
        (parameter) => `SELECT l.handler_id AS "handlerId", ${group} AS "group", count(*) AS count,
          count(*) FILTER (WHERE l.state = ${state.held}) AS held, min(l.ended_at) AS "firstDiedAt", max(l.ended_at) AS "lastDiedAt",
          (array_agg(l.id ORDER BY l.ended_at DESC, l.id DESC))[1] AS "newestId"
          FROM looked l WHERE ${conditionsOf(filter, parameter)} GROUP BY 1, 2`,
      )
    },
  }
}

function quote(text: string): string {
  return `'${text.replaceAll(`'`, `''`)}'`
}
