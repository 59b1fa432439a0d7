import type { Database } from 'better-sqlite3'
import { jsonArrayFrom } from 'kysely/helpers/sqlite'
import type { Clock } from '../../base/clock.ts'
import type { Subscription, ViewPort } from '../port.ts'
import type { Tables, ViewStore } from '../views/tables.ts'
import { createViews as createSharedViews, type Views } from '../views/views.ts'
import { createEventList } from './event-list.ts'
import type { IndexHandle } from './index/handle.ts'
import { createIndexViews, type IndexViews } from './index/views.ts'
import { kyselyOf } from './kysely.ts'
import { statementTexts, type SubscriptionRow } from './statements.ts'
import { toSubscription } from './subscriptions.ts'

/** The read side of the store over a connection of its own. */
export interface SqliteViews extends Views, IndexViews {
  events(query: Parameters<ViewPort['events']>[0]): Awaited<ReturnType<ViewPort['events']>>
  subscription(): Subscription | null
}

/** `clock`: tells what of a handler's state has expired. Without an `index` events are looked at one by one. */
export function createViews(db: Database, clock: Pick<Clock, 'now'>, index: IndexHandle | null = null): SqliteViews {
  const newestSubscription = db.prepare<[], SubscriptionRow>(statementTexts.newestSubscription)

  return {
    ...createSharedViews(viewStoreOf(db), clock),
    events: createEventList(db, index),
    ...createIndexViews(index),
    subscription: () => toSubscription(newestSubscription.get()),
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
