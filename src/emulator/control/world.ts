import { z } from 'zod'
import { eventTypes, networkIds } from '../../../schema/index.ts'
import { searchParameter, timeframes, type Timeframe } from '../../../schema/rest/parameters.ts'
import type { EmulatorState } from '../emulator-state.ts'
import { HttpError } from '../rest/error.ts'
import { commandBodies, archetypes } from '../world/port.ts'
import type { PnlSummary, TokenRef, WalletRef, World, WorldCommand, WorldEvent, WorldViews } from '../world/port.ts'
import { route, toTime, type Route } from './route.ts'
import { canonical, limit, wholeNumber } from '../values.ts'

const network = z.enum(networkIds)
const commandRoutes = Object.entries(commandBodies).map(([kind, body]) =>
  route('POST', `/world/${kind}`, {
    body: body as z.ZodType<object>,
    answer: ({ state }, call) => state.world.acts.apply({ kind, ...call.body } as WorldCommand),
  }),
)

const eventsQuery = z.strictObject({
  after: z.exactOptional(wholeNumber),
  limit: limit.prefault('100'),
  type: z.exactOptional(z.enum(eventTypes)),
  order: z.enum(['oldest', 'newest']).prefault('oldest'),
})

const isTrue = z.enum(['true', 'false']).transform((text) => text === 'true')

const tokensQuery = z.strictObject({
  network: z.exactOptional(network),
  after: wholeNumber.prefault('0'),
  limit: limit.prefault('100'),
})

const walletsQuery = z.strictObject({
  ...tokensQuery.shape,
  archetype: z.exactOptional(z.enum(archetypes)),
  tracked: z.exactOptional(isTrue),
})

/** Address of a token or wallet. */
const placeQuery = z.strictObject({ network, address: z.string() }).transform(canonical('address'))

const searchQuery = z.strictObject({ q: searchParameter })

/** The digest covers the whole world, so it is computed on request only. */
const worldQuery = z.strictObject({ digest: z.exactOptional(z.literal('1')) })

/** Lists of tokens, wallets and events. Each item has a number for paging. */
const browseRoutes: readonly Route[] = [
  route('GET', '/world/tokens', {
    query: tokensQuery,
    answer({ state }, { query: { network, after, limit } }) {
      const { views } = present(state)
      const found = views.tokens().filter((token) => network === undefined || token.network === network)
      return pageAfter(found, after, limit).map((ref) => toTokenRow(views, ref))
    },
  }),
  route('GET', '/world/wallets', {
    query: walletsQuery,
    answer({ state }, { query: { network, archetype, tracked, after, limit } }) {
      const { views } = present(state)
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
    answer({ state: { world } }, { query: { after, limit, type, order } }) {
      const events = order === 'oldest' ? oldestFirst(world, after ?? 0) : newestFirst(world, after ?? Infinity)
      return events
        .filter(({ event }) => type === undefined || event.type === type)
        .take(limit)
        .toArray()
    },
  }),
]

export type ShownWallet = ReturnType<typeof toWalletRow>

/** A wallet in a list; `seq` numbers all wallets. */
function toWalletRow({ index, ...wallet }: ReturnType<WorldViews['wallets']>[number] & { readonly tracked: boolean }) {
  return { seq: index + 1, ...wallet }
}

function pageAfter<T extends { readonly index: number }>(found: readonly T[], after: number, limit: number): T[] {
  return found.filter(({ index }) => index >= after).slice(0, limit)
}

const eventsPerRead = 100

function* oldestFirst(world: World, after: number): Generator<WorldEvent, void> {
  for (let seen = after; ; seen += eventsPerRead) {
    const events = world.eventsAfter(seen, eventsPerRead)
    yield* events
    if (events.length < eventsPerRead) return
  }
}

/** Events before number `before`, newest first. */
function* newestFirst(world: World, before: number): Generator<WorldEvent, void> {
  for (let end = Math.min(before - 1, world.lastEvent()); end > 0; end -= eventsPerRead) {
    const start = Math.max(0, end - eventsPerRead)
    yield* world.eventsAfter(start, end - start).toReversed()
  }
}

/** Maximum points of a price chart. */
const maxPrices = 300
const [maxPositions, maxTrades, maxFound] = [100, 50, 20]

/** Details of a token or wallet: REST data plus data for charts. */
const explorerRoutes: readonly Route[] = [
  route('GET', '/world/token', {
    query: placeQuery,
    answer({ state }, { query: { network, address } }) {
      const { views } = present(state)
      const token = views.findToken(network, address)
      if (token === null) {
        const message = `there is no token ${address} on ${network}; GET /_emulator/search finds tokens`
        throw new HttpError(404, 'not_found', message)
      }
      return toTokenPage(views, token)
    },
  }),
  route('GET', '/world/wallet', {
    query: placeQuery,
    answer({ state }, { query: { network, address } }) {
      const world = present(state)
      const wallet = world.views.findWallet(network, address)
      if (wallet === null) {
        const message = `wallet ${address} was never seen on ${network}; wallets appear with their first trade`
        throw new HttpError(404, 'wallet_not_found', message)
      }
      return toWalletPage(world, wallet)
    },
  }),
  route('GET', '/search', {
    query: searchQuery,
    answer({ state }, { query: { q } }) {
      const world = present(state)
      const { views } = world
      return views.searchTokens(q, null, firstPage(world, maxFound)).items.flatMap(({ network, address }) => {
        const token = views.findToken(network, address)
        return token === null ? [] : [toTokenRow(views, token)]
      })
    },
  }),
  route('GET', '/thresholds', { answer: ({ state }) => state.world.views.thresholds() }),
]

export type ShownTokenPage = ReturnType<typeof toTokenPage>
export type ShownWalletPage = ReturnType<typeof toWalletPage>

function toTokenPage(views: WorldViews, token: TokenRef) {
  const prices = views.prices(token, maxPrices).map(({ at, price_usd }) => ({ at: toTime(at), price_usd }))
  return { token: views.token(token), prices }
}

function toWalletPage(world: World, wallet: WalletRef) {
  const { views } = world
  const pnl = timeframes.map((timeframe) => [timeframe, views.pnl(wallet, timeframe)] as const)
  return {
    overview: views.overview(wallet),
    pnl: Object.fromEntries(pnl) as Readonly<Record<Timeframe, PnlSummary>>,
    positions: views.portfolio(wallet, firstPage(world, maxPositions)).items,
    trades: views.trades(wallet, firstPage(world, maxTrades), null).items,
    tracked: views.trackedWallets().some(({ index }) => index === wallet.index),
  }
}

function firstPage(world: World, limit: number) {
  return { limit, after: null, asOf: { at: world.now(), seq: world.seq() } }
}

const shownTokens = 100

export type ShownWorld = ReturnType<typeof toWorld>

function toWorld(state: EmulatorState, isWithDigest: boolean) {
  const world = present(state)
  const { views } = world
  const tokens = views.tokens()
  return {
    now: toTime(world.now()),
    seq: world.seq(),
    ...(isWithDigest && { digest: world.digest() }),
    counts: { tokens: tokens.length, wallets: views.wallets().length },
    trackedWallets: views.trackedWallets().map(({ network, address }) => ({ network, address })),
    newestTokens: tokens.slice(-shownTokens).map((token) => {
      const { network, address, symbol, name, price_usd } = views.token(token)
      return { network, address, symbol, name, price_usd }
    }),
  }
}

export type ShownToken = ReturnType<typeof toTokenRow>

/** A token in a list; `seq` numbers all tokens. */
function toTokenRow(views: WorldViews, ref: TokenRef) {
  const { address, symbol, name, price_usd } = views.token(ref)
  return { seq: ref.index + 1, network: ref.network, address, symbol, name, price_usd }
}

/** Returns the world, brought to the present. */
function present({ world, clock }: Pick<EmulatorState, 'world' | 'clock'>): World {
  world.advanceTo(clock.now())
  return world
}

/** The world: summary, commands, lists and details. */
export const worldRoutes: readonly Route[] = [
  route('GET', '/world', {
    query: worldQuery,
    answer: ({ state }, { query }) => toWorld(state, query.digest === '1'),
  }),
  ...commandRoutes,
  ...browseRoutes,
  ...explorerRoutes,
]
