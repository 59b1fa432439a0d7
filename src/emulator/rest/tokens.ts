import type { World } from '../world/port.ts'
import type { HandlersOf } from './calls.ts'
import { RestError } from './error.ts'
import { toPageRequest } from './wallets.ts'

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
