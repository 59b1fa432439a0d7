import type { HandlerRoute, Inbox } from '../port.ts'
import { checkReplayFilter } from '../replay-filter.ts'
import { patternsOf } from '../routes.ts'
import type { Remote } from '../rpc.ts'
import { viewNames as sharedNames } from '../views/names.ts'
import type { SqliteViews } from './views.ts'
import type { WriteSide } from './write-side.ts'

/** The whole port but for what depends on where the store lives. */
type Composed = Omit<Inbox, 'health' | 'onFailure' | 'close'>

/** The views by name, for calls from other threads. */
export const viewNames = [...sharedNames, 'subscription'] as const satisfies readonly (keyof SqliteViews)[]

/** The methods that another thread calls with their arguments copied; the rest goes over the wire packed. */
export const actionNames = [
  'setPaused',
  'setConcurrency',
  'requeueDead',
  'dropDead',
  'dropOpenRuns',
  'retryQuarantined',
  'dropQuarantined',
  'prune',
  'acknowledgeGaps',
  'beginSubscription',
  'endSubscription',
  'note',
  'startReplay',
  'cancelReplay',
  'startServing',
] as const satisfies readonly (keyof WriteSide)[]

/** Joins the write side and the views of a store, in this thread or in others. */
export function composeInbox(side: WriteSide, views: Remote<SqliteViews>): Composed {
  let routes: readonly HandlerRoute[] | undefined
  return {
    ...views,
    ...side,
    async register(given) {
      const concurrencies = await side.register(given)
      routes = given
      return concurrencies
    },
    async startReplay(replay, by) {
      checkReplayFilter(replay.filter)
      patternsOf(replay.filter.handler, routes)
      const id = await side.startReplay(replay, by)
      const record = await views.replay(id)
      if (record === null) throw new Error(`replay ${id} is not there`)
      return record
    },
    countReplay: async (filter) => views.countReplay(filter, patternsOf(filter.handler, routes)),
  }
}
