import { timeframes, type Timeframe } from '../../../schema/rest/parameters.ts'
import type { PnlSummary, TokenRef, WalletRef, World, WorldViews } from '../world/port.ts'
import { ControlError } from './answers.ts'
import { placeQuery, searchQuery } from './bodies.ts'
import { route, type Route } from './route.ts'
import { present, toTime, toTokenRow } from './shown.ts'

/** Points of a price chart. */
const mostPrices = 300
const [mostPositions, mostTrades, mostFound] = [100, 50, 20]

/** A look at single tokens and wallets, as REST gives them and with what a chart needs. */
export const explorerRoutes: readonly Route[] = [
  route('GET', '/world/token', {
    query: placeQuery,
    answer({ keeper }, { query: { network, address } }) {
      const { views } = present(keeper)
      const token = views.findToken(network, address)
      if (token === null) {
        const message = `there is no token ${address} on ${network}; GET /_emulator/search finds tokens`
        throw new ControlError(404, 'not_found', message)
      }
      return toTokenPage(views, token)
    },
  }),
  route('GET', '/world/wallet', {
    query: placeQuery,
    answer({ keeper }, { query: { network, address } }) {
      const world = present(keeper)
      const wallet = world.views.findWallet(network, address)
      if (wallet === null) {
        const message = `no wallet ${address} was ever seen on ${network}: has it traded there?`
        throw new ControlError(404, 'wallet_not_found', message)
      }
      return toWalletPage(world, wallet)
    },
  }),
  route('GET', '/search', {
    query: searchQuery,
    answer({ keeper }, { query: { q } }) {
      const world = present(keeper)
      const { views } = world
      return views.searchTokens(q, null, firstPage(world, mostFound)).items.flatMap(({ network, address }) => {
        const token = views.findToken(network, address)
        return token === null ? [] : [toTokenRow(views, token)]
      })
    },
  }),
  route('GET', '/thresholds', { answer: ({ keeper }) => keeper.world.views.thresholds() }),
]

export type ShownTokenPage = ReturnType<typeof toTokenPage>
export type ShownWalletPage = ReturnType<typeof toWalletPage>

function toTokenPage(views: WorldViews, token: TokenRef) {
  const prices = views.prices(token, mostPrices).map(({ at, price_usd }) => ({ at: toTime(at), price_usd }))
  return { token: views.token(token), prices }
}

function toWalletPage(world: World, wallet: WalletRef) {
  const { views } = world
  const pnl = timeframes.map((timeframe) => [timeframe, views.pnl(wallet, timeframe)] as const)
  return {
    overview: views.overview(wallet),
    pnl: Object.fromEntries(pnl) as Readonly<Record<Timeframe, PnlSummary>>,
    positions: views.portfolio(wallet, firstPage(world, mostPositions)).items,
    trades: views.trades(wallet, firstPage(world, mostTrades), null).items,
    tracked: views.trackedWallets().some(({ index }) => index === wallet.index),
  }
}

function firstPage(world: World, limit: number) {
  return { limit, after: null, asOf: { at: world.now(), seq: world.seq() } }
}
