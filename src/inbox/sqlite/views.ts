import type { Database } from 'better-sqlite3'
import { jsonArrayFrom } from 'kysely/helpers/sqlite'
import type { Clock } from '../../base/clock.ts'
import type { ViewPort } from '../port.ts'
import { eventStatuses, type EventStatus, type ReplayRecord, type Subscription } from '../port.ts'
import { matchesFilter, partsOfKey } from '../replay-filter.ts'
import { createMatcher } from '../routes.ts'
import type { Tables, ViewStore } from '../views/tables.ts'
import { createViews as createSharedViews, type Views } from '../views/views.ts'
import type { CountPart, ReplayCount } from './count-replay.ts'
import { createEventList, eventColumns, type EventRow } from './event-list.ts'
import type { IndexHandle } from './index/handle.ts'
import { createIndexViews, type IndexViews } from './index/views.ts'
import { kyselyOf } from './kysely.ts'
import { statusOfRuns, type ProgressRow } from './progress.ts'
import { statementTexts, type SubscriptionRow } from './statements.ts'
import { toSubscription } from './subscriptions.ts'

/** The read side of the store over a connection of its own. */
export interface SqliteViews extends Views, IndexViews {
  events(query: Parameters<ViewPort['events']>[0]): Awaited<ReturnType<ViewPort['events']>>
  subscription(): Subscription | null
  /** The record of a replay that was just started. */
  replayStarted(id: number): Promise<ReplayRecord>
  countReplay(part: CountPart): ReplayCount
}

/** A replay is counted in parts of so many events. */
const countedPerPart = 20_000

/** `clock`: tells what of a handler's state has expired. Without an `index` events are looked at one by one. */
export function createViews(db: Database, clock: Pick<Clock, 'now'>, index: IndexHandle | null = null): SqliteViews {
  const views = createSharedViews(viewStoreOf(db), clock)
  const eventById = db.prepare<[string], EventRow>(`SELECT ${eventColumns} FROM event INDEXED BY event_id WHERE id = ?`)
  const progressOf = db.prepare<[number], ProgressRow>(
    'SELECT state, attempt, replay_id AS replayId FROM run INDEXED BY run_event WHERE event_seq = ?',
  )
  const hasBody = db.prepare<[number], { found: number }>('SELECT 1 AS found FROM body WHERE seq = ?')
  const eventsFrom = db.prepare<[number, number], EventRow>(
    `SELECT ${eventColumns} FROM event WHERE seq >= ? ORDER BY seq LIMIT ?`,
  )
  const newestSubscription = db.prepare<[], SubscriptionRow>(statementTexts.newestSubscription)

  /** Of an event that was pruned it is written there; else it follows from its runs. */
  function statusOf({ seq, final_status: final }: Pick<EventRow, 'seq' | 'final_status'>): EventStatus {
    if (final !== null) return eventStatuses[final] ?? 'done'
    return statusOfRuns(progressOf.all(seq))
  }

  async function replayStarted(id: number): Promise<ReplayRecord> {
    const record = await views.replay(id)
    if (record === null) throw new Error(`replay ${id} is not there`)
    return record
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
    ...views,
    events: createEventList(db, index),
    ...createIndexViews(index),
    subscription: () => toSubscription(newestSubscription.get()),
    replayStarted,
    countReplay,
  }
}

export function viewStoreOf(db: Database): ViewStore {
  const pages = (name: string) => Number(db.pragma(name, { simple: true }))
  return {
    db: kyselyOf<Tables>(db),
    attemptOrder: 'attempt.rowid',
    jsonRows: jsonArrayFrom,
    sizeBytes: async () => (pages('page_count') - pages('freelist_count')) * pages('page_size'),
  }
}
