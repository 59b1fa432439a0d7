import type { Database } from 'better-sqlite3'
import { sql } from 'kysely'
import { jsonArrayFrom } from 'kysely/helpers/sqlite'
import type { Clock } from '../../base/clock.ts'
import type { Subscription } from '../port.ts'
import type { Tables, ViewStore } from '../views/tables.ts'
import { createViews as createSharedViews, type Views } from '../views/views.ts'
import { kyselyOf } from './kysely.ts'
import { statementTexts, type SubscriptionRow } from './statements.ts'
import { toSubscription } from './subscriptions.ts'

/** The read side of the store over a connection of its own. */
export interface SqliteViews extends Views {
  subscription(): Subscription | null
}

/** `clock` decides which values of a handler's state have expired. */
export function createViews(db: Database, clock: Pick<Clock, 'now'>): SqliteViews {
  const newestSubscription = db.prepare<[], SubscriptionRow>(statementTexts.newestSubscription)

  return {
    ...createSharedViews(viewStoreOf(db), clock),
    subscription: () => toSubscription(newestSubscription.get()),
  }
}

export function viewStoreOf(db: Database): ViewStore {
  const pages = (name: string) => Number(db.pragma(name, { simple: true }))
  return {
    db: kyselyOf<Tables>(db),
    attemptOrder: 'attempt.rowid',
    jsonRows: jsonArrayFrom,
    bodyHas: (pattern) => sql`cast(body.raw as text) like ${pattern} escape '\\'`,
    sizeBytes: async () => (pages('page_count') - pages('freelist_count')) * pages('page_size'),
  }
}
