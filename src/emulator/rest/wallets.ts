import { type NetworkId, networkIds } from '../../../schema/index.ts'
import { networkFeatures } from '../../../schema/rest/network.ts'
import type { HandlersOf } from './calls.ts'
import type { RestSettings } from './input.ts'
import { RestError } from './error.ts'
import type { KeyedPageRequest } from './pages.ts'
import { networkFacts } from '../world/networks.ts'
import type { PageRequest, Trade, WalletRef, World } from '../world/port.ts'

type WalletOperation = 'getWallet' | 'getWalletPortfolio' | 'getWalletPnl' | 'listWalletTrades'

/** Wallet operations, read from the world (R16–R29, R51–R56). */
export function createWalletHandlers(
  { views }: Pick<World, 'views'>,
  { tradesOrder }: Pick<RestSettings, 'tradesOrder'>,
): HandlersOf<WalletOperation> {
  const find = (address: string, network: NetworkId): WalletRef => {
    const wallet = views.findWallet(network, address)
    if (wallet !== null) return wallet
    throw new RestError(
      'wallet_not_found',
      `wallet ${address} was never seen on ${network}; wallets appear with their first trade`,
    )
  }

  return {
    getWallet: ({ params, query }) => ({ data: views.overview(find(params.address, query.network)), page: null }),
    getWalletPortfolio({ params, query, page }) {
      const { items, lastKey, total } = views.portfolio(find(params.address, query.network), toPageRequest(page))
      return { data: items, page: { lastKey, total } }
    },
    getWalletPnl({ params, query }) {
      return { data: views.pnl(find(params.address, query.network), query.timeframe), page: null }
    },
    listWalletTrades({ params, query, page }) {
      const wallet = find(params.address, query.network)
      const { items, lastKey, total } = views.trades(wallet, toPageRequest(page), query.token ?? null)
      return { data: tradesOrder === 'newest' ? items : items.toSorted(byHash), page: { lastKey, total } }
    },
  }
}

/** An order unrelated to time, but stable (A21). */
function byHash(a: Trade, b: Trade): number {
  return a.tx_hash < b.tx_hash ? -1 : 1
}

/** Page request for a list of the world, whose keys are numbers. */
function toPageRequest({ limit, after, asOf }: KeyedPageRequest): PageRequest {
  return { limit, after: after === null ? null : Number(after), asOf }
}

/** Tokens by address and by search (R64, R65, A7, A20). */
export function createTokenHandlers({ views }: Pick<World, 'views'>): HandlersOf<'getToken' | 'searchTokens'> {
  return {
    getToken({ params: { address }, query: { network } }) {
      const token = views.findToken(network, address)
      if (token !== null) return { data: views.token(token), page: null }
      throw new RestError('not_found', `there is no token ${address} on ${network}; GET /v1/tokens/search finds tokens`)
    },
    searchTokens({ query: { q, network = null }, page }) {
      const { items, lastKey, total } = views.searchTokens(q, network, toPageRequest(page))
      return { data: items, page: { lastKey, total } }
    },
  }
}

/** The network directory (R38–R40, R59, A6). */
export function createNetworkHandlers({ views }: Pick<World, 'views'>): HandlersOf<'listNetworks'> {
  return {
    listNetworks: () => ({
      data: networkIds.map((id) => ({
        id,
        name: networkFacts[id].name,
        chain_id: networkFacts[id].chainId,
        native_currency: networkFacts[id].coin,
        status: views.networkStatus(id),
        features: [...networkFeatures],
      })),
      page: null,
    }),
  }
}
