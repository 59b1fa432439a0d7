import { decodeCursorPair, encodeCursor } from '../cursor.ts'
import { errorGroupOf, frameOf } from '../error-group.ts'
import { maxDeadIds, type DeadFilter, type DeadGroup, type DeadLetter, type QueryStore } from '../port.ts'
import { runState } from '../run-sql.ts'
import { attemptsOf, errorOf } from './event-detail.ts'
import { rowsOf, turn, type ViewStore } from './tables.ts'

/** Maximum dead letters that a page or the groups scan. A page also stops after `budgetMs`. */
const maxScanned = 20_000
const budgetMs = 50
const rowsPerStatement = 4_000
const maxGroups = 500

/** Position of a dead letter in the list, newest first. */
type DeadPosition = readonly [endedAt: number, runId: number]

const newest: DeadPosition = [Number.MAX_SAFE_INTEGER, 0]

interface Part {
  /** Matches, newest first. */
  readonly found: readonly Candidate[]
  readonly scanned: number
  /** Position of the next page; null at the end. */
  readonly position: DeadPosition | null
}

interface Candidate {
  readonly id: number
  readonly endedAt: number
  readonly handlerId: number
  readonly state: number
  readonly group: string
}

type Group = Pick<DeadGroup, 'group' | 'count' | 'held' | 'firstDiedAt' | 'lastDiedAt'> & { readonly newestId: number }

/** Reads dead letters, newest first, by the index of their time of death. Each statement reads a bounded number. */
export function createDeadLetters(
  store: ViewStore,
): Pick<QueryStore, 'deadLetter' | 'deadLetters' | 'deadGroups' | 'deadRunIds'> {
  const { db } = store
  const dead = db
    .selectFrom('run')
    .where((eb) => eb.and([eb('run.state', '>=', eb.lit(runState.held)), eb('run.state', '<=', eb.lit(runState.dead))]))

  /** Dead letters by run id. Runs that were requeued in the meantime are missing. */
  async function deadLettersOf(runIds: readonly number[]): Promise<ReadonlyMap<number, DeadLetter>> {
    if (runIds.length === 0) return new Map()
    const rows = await dead
      .where('run.id', 'in', runIds)
      .select((eb) => [
        'run.id as runId',
        eb.selectFrom('event').select('event.id').whereRef('event.seq', '=', 'run.event_seq').as('eventId'),
        eb.selectFrom('event').select('event.type').whereRef('event.seq', '=', 'run.event_seq').as('type'),
        eb.selectFrom('handler').select('handler.name').whereRef('handler.id', '=', 'run.handler_id').as('handler'),
        'run.attempt',
        'run.crashed',
        'run.ended_at as diedAt',
        'run.state',
        store.jsonRows(attemptsOf(store, eb).orderBy(store.attemptOrder, 'desc').limit(1)).as('last'),
      ])
      .execute()
    return new Map(
      rows.map(({ state, last, eventId, type, handler, ...row }) => {
        const deadLetter = { ...row, held: state === runState.held, error: errorOf(rowsOf(last)[0]) }
        return [row.runId, { ...deadLetter, eventId: eventId ?? '', type: type ?? '', handler: handler ?? '' }]
      }),
    )
  }

  async function handlerId(name: string): Promise<number | undefined> {
    return (await db.selectFrom('handler').select('id').where('name', '=', name).executeTakeFirst())?.id
  }

  /** Scans the next `limit` dead letters. */
  async function scan(filter: DeadFilter, [endedAt, id]: DeadPosition, limit: number): Promise<Part> {
    const rows = await dead
      .where((eb) => eb(eb.refTuple('run.ended_at', 'run.id'), '<', eb.tuple(endedAt, id)))
      .orderBy('run.ended_at', 'desc')
      .orderBy('run.id', 'desc')
      .limit(limit)
      .select([
        'run.id',
        'run.ended_at as endedAt',
        'run.handler_id as handlerId',
        'run.state',
        'run.error_group as group',
      ])
      .$if(filter.type !== undefined, (query) =>
        query.select((eb) =>
          eb.selectFrom('event').select('event.type').whereRef('event.seq', '=', 'run.event_seq').as('type'),
        ),
      )
      .execute()
    const handler = filter.handler === undefined ? undefined : await handlerId(filter.handler)
    // Dead letters of older versions have no stored group, and groups of older versions no frame.
    const withoutGroup = await deadLettersOf(rows.filter(({ group }) => group === null).map((row) => row.id))
    const groupOf = (row: (typeof rows)[number]) => {
      const { name, message } = withoutGroup.get(row.id)?.error ?? errorOf(undefined)
      return row.group ?? errorGroupOf({ name, message })
    }
    const found = rows
      .filter((row) => filter.handler === undefined || row.handlerId === handler)
      .filter((row) => filter.type === undefined || row.type === filter.type)
      .map((row) => ({ ...row, group: groupOf(row) }))
      .filter((row) => filter.group === undefined || row.group === filter.group)
    const last = rows.length === limit ? rows.at(-1) : undefined
    return { found, scanned: rows.length, position: last === undefined ? null : [last.endedAt, last.id] }
  }

  return {
    deadLetter: async (runId) => (await deadLettersOf([runId])).get(runId) ?? null,

    /** If few scanned dead letters match, the page is short and has a cursor. */
    async deadLetters({ limit, cursor, ...filter }) {
      const until = performance.now() + budgetMs
      const isFiltered = Object.values(filter).some((value) => value !== undefined)
      const found: Candidate[] = []
      let position: DeadPosition | null = cursor === undefined ? newest : decodeCursorPair(cursor)
      for (let scanned = 0; position !== null && found.length <= limit; await turn()) {
        const part: Part = await scan(filter, position, isFiltered ? rowsPerStatement : limit + 1)
        found.push(...part.found)
        scanned += part.scanned
        position = part.position
        if (scanned >= maxScanned || performance.now() > until) break
      }
      const last = found.length > limit ? found[limit - 1] : undefined
      const next = last === undefined ? position : ([last.endedAt, last.id] as const)
      const data = found.slice(0, limit)
      const byRunId = await deadLettersOf(data.map(({ id }) => id))
      return {
        data: data.flatMap(({ id }) => byRunId.get(id) ?? []),
        nextCursor: next === null ? null : encodeCursor(...next),
      }
    },

    async deadGroups(filter) {
      const groups = new Map<string, Group>()
      let position: DeadPosition | null = newest
      for (let scanned = 0; position !== null && scanned < maxScanned; await turn()) {
        const part: Part = await scan(filter, position, rowsPerStatement)
        for (const candidate of part.found) addTo(groups, candidate)
        scanned += part.scanned
        position = part.position
      }
      const largest = [...groups.values()]
        .toSorted((a, b) => b.count - a.count || b.lastDiedAt - a.lastDiedAt || b.newestId - a.newestId)
        .slice(0, maxGroups)
      const samples = await deadLettersOf(largest.map(({ newestId }) => newestId))
      const shown = largest.flatMap(({ newestId, ...group }): DeadGroup[] => {
        const sample = samples.get(newestId)
        return sample === undefined ? [] : [{ ...group, frame: frameOf(group.group), handler: sample.handler, sample }]
      })
      return { groups: shown, isComplete: position === null && groups.size <= maxGroups }
    },

    async deadRunIds(filter) {
      // A run that is requeued and dies again during the scan may occur twice.
      const runIds = new Set<number>()
      for (let position: DeadPosition | null = newest; position !== null && runIds.size <= maxDeadIds; await turn()) {
        const part: Part = await scan(filter, position, rowsPerStatement)
        for (const { id } of part.found) runIds.add(id)
        position = part.position
      }
      return {
        runIds: [...runIds].slice(0, maxDeadIds).toSorted((a, b) => a - b),
        isComplete: runIds.size <= maxDeadIds,
      }
    },
  }
}

/** Adds a dead letter to its group. Call in order of death, newest first. */
function addTo(groups: Map<string, Group>, { id, handlerId, group, state, endedAt }: Candidate): void {
  const key = `${handlerId} ${group}`
  const known = groups.get(key) ?? { group, count: 0, held: 0, lastDiedAt: endedAt, newestId: id }
  const held = known.held + (state === runState.held ? 1 : 0)
  groups.set(key, { ...known, count: known.count + 1, held, firstDiedAt: endedAt })
}
