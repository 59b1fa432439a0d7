import { eventsQuery, tokensQuery, walletsQuery } from './bodies.ts'
import type { World, WorldEvent, WorldViews } from '../world/port.ts'
import { route, type Route } from './route.ts'
import { present, toTokenRow } from './shown.ts'

/** What there is to look at: tokens, wallets and events, each with its number, to go on after. */
export const browseRoutes: readonly Route[] = [
  route('GET', '/world/tokens', {
    query: tokensQuery,
    answer({ keeper }, { query: { network, after, limit } }) {
      const { views } = present(keeper)
      const found = views.tokens().filter((token) => network === undefined || token.network === network)
      return pageAfter(found, after, limit).map((ref) => toTokenRow(views, ref))
    },
  }),
  route('GET', '/world/wallets', {
    query: walletsQuery,
    answer({ keeper }, { query: { network, archetype, tracked, after, limit } }) {
      const { views } = present(keeper)
      const followed = new Set(views.trackedWallets().map(({ index }) => index))
      const found = views
        .wallets()
        .map((wallet) => ({ ...wallet, tracked: followed.has(wallet.index) }))
        .filter((wallet) => network === undefined || wallet.network === network)
        .filter((wallet) => archetype === undefined || wallet.archetype === archetype)
        .filter((wallet) => tracked === undefined || wallet.tracked === tracked)
      return pageAfter(found, after, limit).map(toWalletRow)
    },
  }),
  route('GET', '/events', {
    query: eventsQuery,
    answer({ keeper: { world } }, { query: { after, limit, type, order } }) {
      const events = order === 'oldest' ? oldestFirst(world, after ?? 0) : newestFirst(world, after ?? Infinity)
      return events
        .filter(({ event }) => type === undefined || event.type === type)
        .take(limit)
        .toArray()
    },
  }),
]

export type ShownWallet = ReturnType<typeof toWalletRow>

/** A wallet in a list; `seq` is its number among all. */
function toWalletRow({ index, ...wallet }: ReturnType<WorldViews['wallets']>[number] & { readonly tracked: boolean }) {
  return { seq: index + 1, ...wallet }
}

/** The list of routes, for whoever asks without a path. */
export function listRoutes(routes: readonly Route[]): readonly Route[] {
  const list = routes.map(({ method, path }) => ({ method, path: `/_emulator${path}` }))
  return ['', '/'].map((path) => route('GET', path, { answer: () => list }))
}

function pageAfter<T extends { readonly index: number }>(found: readonly T[], after: number, limit: number): T[] {
  return found.filter(({ index }) => index >= after).slice(0, limit)
}

const eventsPerLook = 100

function* oldestFirst(world: World, after: number): Generator<WorldEvent, void> {
  for (let seen = after; ; seen += eventsPerLook) {
    const events = world.eventsAfter(seen, eventsPerLook)
    yield* events
    if (events.length < eventsPerLook) return
  }
}

/** Those before the number `before`. */
function* newestFirst(world: World, before: number): Generator<WorldEvent, void> {
  for (let end = Math.min(before - 1, lastSeq(world)); end > 0; end -= eventsPerLook) {
    const start = Math.max(0, end - eventsPerLook)
    yield* world.eventsAfter(start, end - start).toReversed()
  }
}

/** The number of the newest event, 0 if there is none. A look at an event costs, so few are looked at. */
function lastSeq(world: World): number {
  const isThere = (seq: number) => world.eventsAfter(seq - 1, 1).length > 0
  let low = 0
  let high = 1
  while (isThere(high)) [low, high] = [high, high * 2]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (isThere(middle)) low = middle
    else high = middle
  }
  return low
}
