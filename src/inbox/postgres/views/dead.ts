import { encodeCursor, decodeCursorPair } from '../../cursor.ts'
import { mostDeadIds, type DeadGroup, type DeadLetter, type ViewPort } from '../../port.ts'
import type { Rows } from '../database.ts'
import { state } from '../progress.ts'
import { fromStored } from '../text.ts'
import { unknownError } from '../../error-group.ts'
import { attemptColumns, toError, type AttemptRow } from './attempts.ts'
import { createDeadParts, newestDead, type DeadPlace, type DeadRun, type GroupRow } from './dead-parts.ts'

interface DeadRow extends Pick<
  DeadLetter,
  'runId' | 'eventId' | 'type' | 'handler' | 'attempt' | 'crashed' | 'diedAt'
> {
  readonly state: number
  readonly last: AttemptRow | null
}

/** A page looks at so many dead letters, or for so long, and groups are made of so many. */
const mostLookedAt = 20_000
const budgetMs = 50
/** More of them would be no list for people. */
const mostGroups = 500

const ofRuns = `SELECT r.id AS "runId", (SELECT e.id FROM inbox.event e WHERE e.seq = r.event_seq) AS "eventId",
    (SELECT e.type FROM inbox.event e WHERE e.seq = r.event_seq) AS type,
    (SELECT h.name FROM inbox.handler h WHERE h.id = r.handler_id) AS handler,
    r.attempt, r.crashed, r.ended_at AS "diedAt", r.state,
    (SELECT to_json(a) FROM (
       SELECT ${attemptColumns} FROM inbox.attempt WHERE run_id = r.id ORDER BY seq DESC LIMIT 1) a) AS last
  FROM inbox.run r WHERE r.id = ANY ($1::bigint[]) AND r.state >= ${state.held} AND r.state <= ${state.dead}`

/** Views of dead letters. */
export function createDeadViews(db: Rows): Pick<ViewPort, 'deadLetter' | 'deadLetters' | 'deadGroups' | 'deadRunIds'> {
  const parts = createDeadParts(db)

  /** By their run ids; what was requeued meanwhile is not among them. */
  async function lettersOf(runIds: readonly number[]): Promise<ReadonlyMap<number, DeadLetter>> {
    if (runIds.length === 0) return new Map()
    const rows = await db.query<DeadRow>(ofRuns, [runIds])
    return new Map(rows.map((row) => [row.runId, toLetter(row)]))
  }

  return {
    deadLetter: async (runId) => (await lettersOf([runId])).get(runId) ?? null,

    /** Where few of those that are looked at are looked for, the page comes back short, with a cursor. */
    async deadLetters({ limit, cursor, ...filter }) {
      const until = performance.now() + budgetMs
      const isFiltered = Object.values(filter).some((value) => value !== undefined)
      const found: DeadRun[] = []
      let behind: DeadPlace | null = cursor === undefined ? newestDead : decodeCursorPair(cursor)
      for (let looked = 0; behind !== null && found.length <= limit;) {
        const part = await parts.places(filter, behind, isFiltered ? undefined : limit + 1)
        found.push(...part.found)
        looked += part.looked
        behind = part.behind
        if (looked >= mostLookedAt || performance.now() > until) break
      }
      const last = found.length > limit ? found[limit - 1] : undefined
      const next = last === undefined ? behind : ([last.endedAt, last.id] as const)
      const data = found.slice(0, limit)
      const letters = await lettersOf(data.map(({ id }) => id))
      return {
        data: data.flatMap(({ id }) => letters.get(id) ?? []),
        nextCursor: next === null ? null : encodeCursor(...next),
      }
    },

    async deadGroups(filter) {
      const groups = new Map<string, GroupRow>()
      let behind: DeadPlace | null = newestDead
      for (let looked = 0; behind !== null && looked < mostLookedAt;) {
        const part = await parts.groups(filter, behind)
        for (const row of part.found) add(groups, row)
        looked += part.looked
        behind = part.behind
      }
      const largest = [...groups.values()]
        .toSorted((a, b) => b.count - a.count || b.lastDiedAt - a.lastDiedAt || b.newestId - a.newestId)
        .slice(0, mostGroups)
      const samples = await lettersOf(largest.map(({ newestId }) => newestId))
      const shown = largest.flatMap(({ newestId, group, count, held, firstDiedAt, lastDiedAt }): DeadGroup[] => {
        const sample = samples.get(newestId)
        if (sample === undefined) return []
        return [{ handler: sample.handler, group: fromStored(group), count, held, firstDiedAt, lastDiedAt, sample }]
      })
      return { groups: shown, isComplete: behind === null && groups.size <= mostGroups }
    },

    async deadRunIds(filter) {
      // One that is requeued and dies again meanwhile may come twice.
      const runIds = new Set<number>()
      for (let behind: DeadPlace | null = newestDead; behind !== null && runIds.size <= mostDeadIds;) {
        const part = await parts.places(filter, behind)
        for (const { id } of part.found) runIds.add(id)
        behind = part.behind
      }
      return {
        runIds: [...runIds].slice(0, mostDeadIds).toSorted((a, b) => a - b),
        isComplete: runIds.size <= mostDeadIds,
      }
    },
  }
}

/** What is added died before what is there. */
function add(groups: Map<string, GroupRow>, row: GroupRow): void {
  const key = `${row.handlerId} ${row.group}`
  const known = groups.get(key)
  groups.set(
    key,
    known === undefined
      ? row
      : {
          ...known,
          count: known.count + row.count,
          held: known.held + row.held,
          firstDiedAt: row.firstDiedAt,
        },
  )
}

function toLetter({ state: code, last, ...row }: DeadRow): DeadLetter {
  return {
    ...row,
    eventId: fromStored(row.eventId),
    type: fromStored(row.type),
    handler: fromStored(row.handler),
    held: code === state.held,
    error: last === null ? unknownError : toError(last),
  }
}
