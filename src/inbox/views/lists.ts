import { sql } from 'kysely'
import { decodeCursor, toPage, decodeDigestCursor } from '../cursor.ts'
import { maxBlockedRuns } from '../jobs.ts'
import type { AuditRecord, Page, PageQuery, ReplayRecord, QueryStore, ReplayFilter, ConflictRecord } from '../port.ts'
import { toReplayRecord, checkReplayFilter, matchesFilter, partsOfKey } from '../replays.ts'
import { cursorNumber, openRuns, type ViewStore, rowsOf, turn } from './tables.ts'
import { runState } from '../run-sql.ts'
import { createSelector, type Selection } from '../routes.ts'
import { statusOf } from '../status.ts'

/** Maximum gaps in the list. Unacknowledged gaps with lost events are added. */
const maxGaps = 20

/** Reads replays, audit records, gaps and unknown ids. */
export function createLists({
  db,
}: ViewStore): Pick<QueryStore, 'replays' | 'replay' | 'audit' | 'gaps' | 'unknownIds'> {
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
        // Counts per handler in index order, so that it reads a bounded part of the index.
        .select((eb) =>
          eb
            .selectFrom('handler')
            .select((handlers) => [
              sql<number>`coalesce(sum(${handlers
                .selectFrom(
                  openRuns(db)
                    .select('run.id')
                    .where('run.handler_id', '=', sql.ref<number>('handler.id'))
                    .where('run.replay_id', '=', sql.ref<number>('replay.id'))
                    .where('run.state', '<', eb.lit(runState.held))
                    .limit(2 * maxBlockedRuns)
                    .as('few'),
                )
                .select((few) => few.fn.countAll<number>().as('count'))}), 0)`.as('open'),
            ])
            .as('openRuns'),
        )
        .where('replay.id', '<', cursorNumber(below))
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
          .where('id', '<', cursorNumber(below))
          .orderBy('id', 'desc')
          .limit(limit)
          .execute()
        return rows.map((row) => ({ ...row, detail: JSON.parse(row.detail) as AuditRecord['detail'] }))
      }),
    async gaps() {
      const newest = db.selectFrom('gap').select('id').orderBy('id', 'desc').limit(maxGaps)
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
      return rows.map(({ lostFrom, lostTo, ...gap }) => ({
        ...gap,
        lost: lostFrom === null || lostTo === null ? null : { from: lostFrom, to: lostTo },
      }))
    },
    async unknownIds(ids) {
      const rows = ids.length === 0 ? [] : await db.selectFrom('event').select('id').where('id', 'in', ids).execute()
      const known = new Set(rows.map(({ id }) => id))
      // A lone surrogate is stored as U+FFFD.
      return ids.filter((id) => !known.has(id.toWellFormed()))
    },
  }
}

/** A page by id, newest first. Reads one extra row to know whether there is another page. */
async function pageOf<T extends { readonly id: number }>(
  { limit, cursor }: PageQuery,
  read: (below: number, limit: number) => Promise<readonly T[]>,
): Promise<Page<T>> {
  const rows = await read(cursor === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor(cursor), limit + 1)
  return toPage(rows, limit, ({ id }) => [id])
}

const eventsPerStatement = 4_000

/** Counts the events that a replay would match, and those without a body. */
export function createReplayCount(store: ViewStore) {
  const { db } = store

  const events = db
    .selectFrom('event')
    .select([
      'seq',
      'id',
      'type',
      'received_at as receivedAt',
      'key',
      'secret_label as secretLabel',
      'final_status as finalStatus',
    ])

  /** Events of `part` that may match; `matchesFilter` decides. */
  const matchesIn = (part: typeof events, { type, from, to, status }: ReplayFilter) =>
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
    async countReplay(filter: ReplayFilter, selections: readonly Selection[]) {
      checkReplayFilter(filter)
      const isTaken = createSelector(selections)
      let [count, skipped] = [0, 0]
      async function countIn(part: typeof events): Promise<void> {
        for (const row of await matchesIn(part, filter)) {
          const status = () => statusOf(row.finalStatus, rowsOf(row.runs ?? null))
          if (!isTaken(row) || !matchesFilter(filter, { ...row, ...partsOfKey(row.key), status })) continue
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
          // The limit makes PostgreSQL use the index.
          await countIn(next.orderBy('seq').limit(eventsPerStatement))
        }
      } else if (ids.length > 0) await countIn(events.where('id', 'in', ids))
      return { events: count, skipped }
    },
  }
}

/** Reads conflicting deliveries: the id of a stored event with another body. */
export function createConflicts({ db }: ViewStore): Pick<QueryStore, 'conflicts' | 'conflict'> {
  // Each lookup is a subquery: PostgreSQL might read a whole table for a join.
  const records = db
    .selectFrom('conflict')
    .select((eb) => [
      'conflict.event_seq as seq',
      eb.selectFrom('event').select('event.id').whereRef('event.seq', '=', 'conflict.event_seq').as('eventId'),
      eb.selectFrom('event').select('event.type').whereRef('event.seq', '=', 'conflict.event_seq').as('type'),
      'conflict.digest',
      'conflict.received_at as receivedAt',
      'conflict.count',
      eb.fn<number>('length', ['conflict.raw']).as('sizeBytes'),
    ])
  return {
    async conflicts({ limit, cursor }) {
      const [at, seq, digest] = cursor === undefined ? [Number.MAX_SAFE_INTEGER, 0, ''] : decodeDigestCursor(cursor)
      const rows = await records
        .where((eb) =>
          eb(
            eb.refTuple('conflict.received_at', 'conflict.event_seq', 'conflict.digest'),
            '<',
            eb.tuple(at, seq, digest),
          ),
        )
        .orderBy('conflict.received_at', 'desc')
        .orderBy('conflict.event_seq', 'desc')
        .orderBy('conflict.digest', 'desc')
        .limit(limit + 1)
        .execute()
      const page = toPage(rows, limit, ({ receivedAt, seq, digest }) => [receivedAt, seq, digest])
      return { ...page, data: page.data.map(toRecord) }
    },
    async conflict(eventId, digest) {
      const row = await records
        .select((eb) => [
          'conflict.raw',
          eb.selectFrom('body').select('body.raw').whereRef('body.seq', '=', 'conflict.event_seq').as('keptRaw'),
        ])
        .where('conflict.event_seq', '=', (eb) =>
          eb.selectFrom('event').select('event.seq').where('event.id', '=', eventId),
        )
        .where('conflict.digest', '=', digest)
        .executeTakeFirst()
      return row === undefined ? null : { ...toRecord(row), raw: row.raw, keptRaw: row.keptRaw ?? Buffer.alloc(0) }
    },
  }
}

type Row = { readonly [F in keyof ConflictRecord]: ConflictRecord[F] | null }

function toRecord({ eventId, type, digest, receivedAt, count, sizeBytes }: Row): ConflictRecord {
  return { eventId, type, digest, receivedAt, count, sizeBytes } as ConflictRecord
}
