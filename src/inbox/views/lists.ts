import { sql } from 'kysely'
import { decodeCursor, encodeCursor } from '../cursor.ts'
import { mostBehind } from '../jobs.ts'
import type { AuditRecord, GapRecord, Page, PageQuery, ReplayRecord, ViewPort } from '../port.ts'
import { toReplayRecord } from '../replay-row.ts'
import { place, type ViewStore } from './tables.ts'

const mostGaps = 20

/** Views of the short tables: replays, the audit and gaps; and which ids are unknown. */
export function createLists({ db }: ViewStore): Pick<ViewPort, 'replays' | 'replay' | 'audit' | 'gaps' | 'unknownIds'> {
  function replaysBelow(below: number, limit: number) {
    return (
      db
        .selectFrom('replay')
        .select([
          'replay.id',
          'replay.filter',
          'replay.per_second as perSecond',
          'replay.new_keys as newKeys',
          'replay.state',
          'replay.created_at as createdAt',
          'replay.ended_at as endedAt',
          'replay.next_seq as nextSeq',
          'replay.last_seq as lastSeq',
          'replay.events',
          'replay.runs',
          'replay.skipped',
        ])
        // By handler and along the index, so that only a bounded part of it is read.
        .select((eb) =>
          eb
            .selectFrom('handler')
            .select((handlers) => [
              sql<number>`coalesce(sum(${handlers
                .selectFrom(
                  handlers
                    .selectFrom('run')
                    .select('run.id')
                    .whereRef('run.handler_id', '=', 'handler.id')
                    .whereRef('run.replay_id', '=', 'replay.id')
                    .where('run.state', '<', eb.lit(5))
                    .where('run.state', '<', eb.lit(4))
                    .orderBy('run.handler_id')
                    .orderBy('run.replay_id')
                    .orderBy('run.key')
                    .orderBy('run.id')
                    .limit(2 * mostBehind)
                    .as('few'),
                )
                .select((few) => few.fn.countAll<number>().as('count'))}), 0)`.as('open'),
            ])
            .as('openRuns'),
        )
        .where('replay.id', '<', place(below))
        .orderBy('replay.id', 'desc')
        .limit(limit)
    )
  }

  async function readReplays(below: number, limit: number): Promise<ReplayRecord[]> {
    const rows = await replaysBelow(below, limit).execute()
    return rows.map(({ openRuns, newKeys, ...row }) =>
      toReplayRecord({ ...row, newKeys: Boolean(newKeys) }, Number(openRuns)),
    )
  }

  return {
    replays: (query) => pageOf(query, readReplays),
    async replay(id) {
      const [record] = await readReplays(id + 1, 1)
      return record?.id === id ? record : null
    },
    audit: (query) =>
      pageOf(query, async (below, limit) => {
        const rows = await db
          .selectFrom('audit')
          .select(['id', 'at', 'action', 'detail', 'by_whom as by'])
          .where('id', '<', place(below))
          .orderBy('id', 'desc')
          .limit(limit)
          .execute()
        return rows.map((row) => ({ ...row, detail: JSON.parse(row.detail) }) as AuditRecord)
      }),
    async gaps() {
      const newest = db.selectFrom('gap').select('id').orderBy('id', 'desc').limit(mostGaps)
      const rows = await db
        .selectFrom('gap')
        .select([
          'from_at as from',
          'to_at as to',
          'kind',
          'retried_until as retriedUntil',
          'lost_from as lostFrom',
          'lost_to as lostTo',
          'arrived',
          'arrived_lost as arrivedLost',
          'last_arrival_at as lastArrivalAt',
          'acknowledged_at as acknowledgedAt',
        ])
        .where((eb) =>
          eb.or([
            eb('id', 'in', db.selectFrom(newest.as('newest')).select('newest.id')),
            eb.and([eb('lost_to', 'is not', null), eb('acknowledged_at', 'is', null)]),
          ]),
        )
        .orderBy('id', 'desc')
        .execute()
      return rows.map(({ lostFrom, lostTo, ...gap }) => {
        return {
          ...gap,
          lost: lostFrom === null || lostTo === null ? null : { from: lostFrom, to: lostTo },
        } as GapRecord
      })
    },
    async unknownIds(ids) {
      const rows = ids.length === 0 ? [] : await db.selectFrom('event').select('id').where('id', 'in', ids).execute()
      const known = new Set(rows.map(({ id }) => id))
      // A lone surrogate is stored as U+FFFD.
      return ids.filter((id) => !known.has(id.toWellFormed()))
    },
  }
}

/** Newest first, by id: one more row than the page has tells whether there is another page. */
async function pageOf<T extends { readonly id: number }>(
  { limit, cursor }: PageQuery,
  read: (below: number, limit: number) => Promise<readonly T[]>,
): Promise<Page<T>> {
  const rows = await read(cursor === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor(cursor), limit + 1)
  const data = rows.slice(0, limit)
  const last = rows.length > limit ? data.at(-1) : undefined
  return { data, nextCursor: last === undefined ? null : encodeCursor(last.id) }
}
