import { decodeCursorPair, toPage } from '../cursor.ts'
import { errorGroupOf, frameOf, unknownError } from '../error-group.ts'
import { maxDeadGroups, maxDeadIds, type DeadFilter, type DeadLetter, type QueryStore } from '../port.ts'
import { runState } from '../run-sql.ts'
import { attemptsOf, errorOf } from './event-detail.ts'
import { deadRuns, rowsOf, type ViewStore } from './tables.ts'

/** Group of dead letters of older versions, which have no stored group. */
const noGroup = errorGroupOf(unknownError)

/** Reads dead letters, newest first, by the index of their time of death. It contains all columns of filters but the type. */
export function createDeadLetters(
  store: ViewStore,
): Pick<QueryStore, 'deadLetter' | 'deadLetters' | 'deadGroups' | 'deadRunIds'> {
  const dead = deadRuns(store.db)

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

  const matching = ({ handler, type, group }: DeadFilter) =>
    dead
      .$if(handler !== undefined, (runs) =>
        runs.where('run.handler_id', '=', (eb) =>
          eb
            .selectFrom('handler')
            .select('handler.id')
            .where('handler.name', '=', handler ?? ''),
        ),
      )
      .$if(group !== undefined, (runs) =>
        runs.where((eb) => eb(eb.fn.coalesce('run.error_group', eb.val(noGroup)), '=', group ?? '')),
      )
      .$if(type !== undefined, (runs) =>
        // Not `exists`: PostgreSQL might read all events.
        runs.where(
          (eb) => eb.selectFrom('event').select('event.type').whereRef('event.seq', '=', 'run.event_seq'),
          '=',
          type ?? '',
        ),
      )
  const newestFirst = (filter: DeadFilter) => matching(filter).orderBy('run.ended_at', 'desc').orderBy('run.id', 'desc')

  return {
    deadLetter: async (runId) => (await deadLettersOf([runId])).get(runId) ?? null,

    async deadLetters({ limit, cursor, ...filter }) {
      let query = newestFirst(filter)
        .select(['run.id', 'run.ended_at as diedAt'])
        .limit(limit + 1)
      if (cursor !== undefined) {
        const position = decodeCursorPair(cursor)
        query = query.where((eb) => eb(eb.refTuple('run.ended_at', 'run.id'), '<', eb.tuple(...position)))
      }
      const page = toPage(await query.execute(), limit, ({ diedAt, id }) => [diedAt, id])
      const byRunId = await deadLettersOf(page.data.map(({ id }) => id))
      return { ...page, data: page.data.flatMap(({ id }) => byRunId.get(id) ?? []) }
    },

    async deadGroups(filter) {
      const rows = await matching(filter)
        .groupBy(['run.handler_id', 'run.error_group'])
        .select((eb) => [
          eb.fn.coalesce('run.error_group', eb.val(noGroup)).as('group'),
          eb.fn.countAll<number>().as('count'),
          eb.fn.countAll<number>().filterWhere('run.state', '=', runState.held).as('held'),
          eb.fn.min('run.ended_at').as('firstDiedAt'),
          eb.fn.max('run.ended_at').as('lastDiedAt'),
          eb.fn.max('run.id').as('sampleId'),
        ])
        .orderBy('count', 'desc')
        .orderBy('lastDiedAt', 'desc')
        .orderBy('sampleId', 'desc')
        .limit(maxDeadGroups + 1)
        .execute()
      const largest = rows.slice(0, maxDeadGroups)
      const samples = await deadLettersOf(largest.map(({ sampleId }) => sampleId))
      const groups = largest.flatMap(({ sampleId, ...group }) => {
        const sample = samples.get(sampleId)
        return sample === undefined ? [] : [{ ...group, frame: frameOf(group.group), handler: sample.handler, sample }]
      })
      return { groups, isComplete: rows.length <= maxDeadGroups }
    },

    async deadRunIds(filter) {
      const rows = await newestFirst(filter)
        .select('run.id')
        .limit(maxDeadIds + 1)
        .execute()
      const runIds = rows.slice(0, maxDeadIds).map(({ id }) => id)
      return { runIds: runIds.toSorted((a, b) => a - b), isComplete: rows.length <= maxDeadIds }
    },
  }
}
