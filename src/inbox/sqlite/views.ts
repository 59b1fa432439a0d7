import type { Database } from 'better-sqlite3'
import type { Clock } from '../../base/clock.ts'
import { decodeCursor, encodeCursor } from '../cursor.ts'
import type { IndexPort } from '../index-port.ts'
import {
  eventStatuses,
  type AuditRecord,
  type EventDetail,
  type EventStatus,
  type InboxStats,
  type GapRecord,
  type Page,
  type PageQuery,
  type ReplayRecord,
  type Subscription,
  type ViewPort,
} from '../port.ts'
import { matchesFilter, partsOfKey } from '../replay-filter.ts'
import { createMatcher } from '../routes.ts'
import type { Acts } from './acts.ts'
import { createConflictViews } from './conflict-views.ts'
import type { CountPart, ReplayCount } from './count-replay.ts'
import { createDeadViews, type DeadIds, type DeadIdsPart } from './dead-views.ts'
import { createDetailView } from './detail-view.ts'
import { createEventList, eventColumns, toSummary, type EventRow } from './event-list.ts'
import type { IndexHandle } from './index/handle.ts'
import { createIndexViews, type IndexViews } from './index/views.ts'
import { statusOfRuns, type ProgressRow } from './progress.ts'
import { createQuarantineViews, type GroupsPart, type GroupsPlace } from './quarantine-views.ts'
import { toReplayRecord } from '../replay-row.ts'
import { state, statementTexts, type ReplayRow, type SubscriptionRow } from './statements.ts'
import { createStatsView } from './stats-view.ts'
import { toSubscription } from './subscriptions.ts'

/** The read side of the store, synchronous, over its own read-only connection. */
export type SqliteViews = {
  [M in Exclude<keyof ViewPort, Act | InParts | keyof IndexPort>]: (
    ...args: Parameters<ViewPort[M]>
  ) => Awaited<ReturnType<ViewPort[M]>>
} & IndexViews & {
    readonly subscription: () => Subscription | null
    /** The record of a replay that was just started. */
    readonly replayStarted: (id: number) => ReplayRecord
    readonly countReplay: (part: CountPart) => ReplayCount
    readonly deadRunIds: (part: DeadIdsPart) => DeadIds
    readonly quarantineGroups: (after: GroupsPlace) => GroupsPart
    readonly stats: () => InboxStats | Promise<InboxStats>
  }

/** What takes long is answered in parts. */
type InParts = 'countReplay' | 'deadRunIds' | 'quarantineGroups' | 'stats'

/** What changes something is not answered here. */
type Act = keyof Acts | 'startReplay' | 'cancelReplay'

/** A replay is counted in parts of so many events. */
const countedPerPart = 20_000

const mostGaps = 20

/** `clock`: tells what of a handler's state has expired. Without an `index` events are looked at one by one. */
export function createViews(db: Database, clock: Pick<Clock, 'now'>, index: IndexHandle | null = null): SqliteViews {
  const detailOf = createDetailView(db, clock)
  const eventById = db.prepare<[string], EventRow>(`SELECT ${eventColumns} FROM event INDEXED BY event_id WHERE id = ?`)
  const progressOf = db.prepare<[number], ProgressRow>(
    'SELECT state, attempt, replay_id AS replayId FROM run INDEXED BY run_event WHERE event_seq = ?',
  )
  const hasBody = db.prepare<[number], { found: number }>('SELECT 1 AS found FROM body WHERE seq = ?')
  const eventsFrom = db.prepare<[number, number], EventRow>(
    `SELECT ${eventColumns} FROM event WHERE seq >= ? ORDER BY seq LIMIT ?`,
  )
  const lastGaps = db.prepare<[number], Omit<GapRecord, 'lost'> & { lostFrom: number | null; lostTo: number | null }>(
    `SELECT from_at AS "from", to_at AS "to", kind, retried_until AS retriedUntil, lost_from AS lostFrom, lost_to AS lostTo,
       arrived, arrived_lost AS arrivedLost, last_arrival_at AS lastArrivalAt, acknowledged_at AS acknowledgedAt
     FROM gap WHERE id > (SELECT max(id) FROM gap) - ? OR (lost_to IS NOT NULL AND acknowledged_at IS NULL) ORDER BY id DESC`,
  )
  const newestSubscription = db.prepare<[], SubscriptionRow>(statementTexts.newestSubscription)
  const auditBelow = db.prepare<[number, number], Omit<AuditRecord, 'detail'> & { readonly detail: string }>(
    'SELECT id, at, action, detail, by_whom AS "by" FROM audit WHERE id < ? ORDER BY id DESC LIMIT ?',
  )
  const replayFields = `id, filter, per_second AS perSecond, new_keys AS newKeys, state, created_at AS createdAt,
     ended_at AS endedAt, next_seq AS nextSeq, last_seq AS lastSeq, events, runs, skipped`
  const replaysBelow = db.prepare<[number, number], ReplayRow>(
    `SELECT ${replayFields} FROM replay WHERE id < ? ORDER BY id DESC LIMIT ?`,
  )
  const openOfReplay = db.prepare<[number], { count: number }>(
    `SELECT count(*) AS count FROM run INDEXED BY run_open
     WHERE handler_id IN (SELECT id FROM handler) AND replay_id = ? AND state < 5 AND state < ${state.held}`,
  )
  /** Of an event that was pruned it is written there; else it follows from its runs. */
  function statusOf({ seq, final_status: final }: Pick<EventRow, 'seq' | 'final_status'>): EventStatus {
    if (final !== null) return eventStatuses[final] ?? 'done'
    return statusOfRuns(progressOf.all(seq))
  }

  function event(id: string): EventDetail | null {
    const row = eventById.get(id)
    if (row === undefined) return null
    return detailOf(toSummary(row, statusOf(row)))
  }

  function audit(query: PageQuery): Page<AuditRecord> {
    const below = query.cursor === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor(query.cursor)
    const rows = auditBelow.all(below, query.limit + 1)
    const data = rows.slice(0, query.limit).map(({ detail, ...row }): AuditRecord => {
      return { ...row, detail: JSON.parse(detail) as AuditRecord['detail'] }
    })
    return page(data, rows.length > query.limit ? data.at(-1)?.id : undefined)
  }

  function gaps(): GapRecord[] {
    return lastGaps.all(mostGaps).map(({ lostFrom, lostTo, ...gap }) => {
      return { ...gap, lost: lostFrom === null || lostTo === null ? null : { from: lostFrom, to: lostTo } }
    })
  }

  function replays(query: PageQuery): Page<ReplayRecord> {
    const below = query.cursor === undefined ? Number.MAX_SAFE_INTEGER : decodeCursor(query.cursor)
    const rows = replaysBelow.all(below, query.limit + 1)
    const data = rows.slice(0, query.limit).map(toReplay)
    return page(data, rows.length > query.limit ? data.at(-1)?.id : undefined)
  }

  function replay(id: number): ReplayRecord | null {
    const [row] = replaysBelow.all(id + 1, 1)
    return row?.id === id ? toReplay(row) : null
  }

  function replayStarted(id: number): ReplayRecord {
    const record = replay(id)
    if (record === null) throw new Error(`replay ${id} is not there`)
    return record
  }

  function toReplay(row: ReplayRow): ReplayRecord {
    return toReplayRecord({ ...row, newKeys: row.newKeys === 1 }, openOfReplay.get(row.id)?.count ?? 0)
  }

  function unknownIds(ids: readonly string[]): string[] {
    return ids.filter((id) => eventById.get(id) === undefined)
  }

  /** Counts in one part of the accept sequence, so that other views have their turn between the parts. */
  function countReplay({ filter, patterns, fromSeq }: CountPart): ReplayCount {
    const rows =
      filter.ids === undefined
        ? eventsFrom.all(fromSeq, countedPerPart)
        : [...new Set(filter.ids)].flatMap((id) => eventById.get(id) ?? [])
    const isTaken = createMatcher(patterns)
    const found = rows.filter((row) => {
      const { id, type, received_at: receivedAt, key } = row
      return (
        isTaken(type) &&
        matchesFilter(filter, { id, type, receivedAt, ...partsOfKey(key), status: () => statusOf(row) })
      )
    })
    const last = filter.ids === undefined ? rows.at(-1)?.seq : undefined
    return {
      events: found.length,
      skipped: found.filter(({ seq }) => hasBody.get(seq) === undefined).length,
      nextSeq: last === undefined ? null : last + 1,
    }
  }

  return {
    events: createEventList(db, index),
    ...createIndexViews(index),
    event,
    ...createDeadViews(db),
    ...createConflictViews(db),
    ...createQuarantineViews(db),
    gaps,
    subscription: () => toSubscription(newestSubscription.get()),
    audit,
    replays,
    replay,
    replayStarted,
    unknownIds,
    countReplay,
    stats: createStatsView(db),
  }
}

function page<T>(data: readonly T[], last: number | undefined): Page<T> {
  return { data, nextCursor: last === undefined ? null : encodeCursor(last) }
}
