import type { ReplayFilter } from '../port.ts'
import { checkReplayFilter, matchesFilter, partsOfKey } from '../replay-filter.ts'
import { createMatcher } from '../routes.ts'
import { statusOf } from '../status.ts'
import { rowsOf, turn, type ViewStore } from './tables.ts'

const eventsPerStatement = 4_000

/** How many events a replay would find of the types that `patterns` match, and how many of these have no body any more. */
export function createReplayCount(store: ViewStore) {
  const { db } = store

  const events = db
    .selectFrom('event')
    .select(['seq', 'id', 'type', 'received_at as receivedAt', 'key', 'final_status as finalStatus'])

  /** Which of `part` the filter may find. */
  const found = (part: typeof events, { type, from, to, status }: ReplayFilter) =>
    db
      .with(
        (cte) => cte('part').materialized(),
        () => part,
      )
      .selectFrom('part')
      .selectAll()
      .select((eb) => eb.selectFrom('body').select('body.seq').whereRef('body.seq', '=', 'part.seq').as('bodySeq'))
      .$if(status !== undefined, (query) =>
        query.select((eb) =>
          store
            .jsonRows(
              eb
                .selectFrom('run')
                .whereRef('run.event_seq', '=', 'part.seq')
                .select(['run.state', 'run.attempt', 'run.replay_id as replayId']),
            )
            .as('runs'),
        ),
      )
      .$if(type !== undefined, (query) => query.where('type', '=', type ?? ''))
      .$if(from !== undefined, (query) => query.where('receivedAt', '>=', Math.ceil(from ?? 0)))
      .$if(to !== undefined, (query) => query.where('receivedAt', '<', Math.ceil(to ?? 0)))
      .execute()

  return {
    async countReplay(filter: ReplayFilter, patterns: readonly string[]) {
      checkReplayFilter(filter)
      const isTaken = createMatcher(patterns)
      let [count, skipped] = [0, 0]
      async function countIn(part: typeof events): Promise<void> {
        for (const row of await found(part, filter)) {
          const status = () => statusOf(row.finalStatus, rowsOf(row.runs ?? null))
          if (!isTaken(row.type) || !matchesFilter(filter, { ...row, ...partsOfKey(row.key), status })) continue
          count += 1
          if (row.bodySeq === null) skipped += 1
        }
        await turn()
      }
      const { ids } = filter
      if (ids === undefined) {
        const newest = await db.selectFrom('event').select('seq').orderBy('seq', 'desc').limit(1).executeTakeFirst()
        for (let seq = 1; seq <= (newest?.seq ?? 0); seq += eventsPerStatement) {
          const next = events.where('seq', '>=', seq).where('seq', '<', seq + eventsPerStatement)
          // The limit keeps PostgreSQL on the index.
          await countIn(next.orderBy('seq').limit(eventsPerStatement))
        }
      } else if (ids.length > 0) await countIn(events.where('id', 'in', ids))
      return { events: count, skipped }
    },
  }
}
