import { networkIds, type NetworkId } from '../../../schema/index.ts'
import { holdersOf, holdingKey, placeOf, type Core, type Directory } from './core.ts'
import { SearchIndex } from './search-index.ts'
import type { TokenState, WorldState } from './state.ts'

export function emptyDirectory(): Directory {
  return {
    wallets: new Map(),
    tokens: new Map(),
    names: new SearchIndex(),
    holdings: new Map(),
    holders: [],
    markets: lists(),
    bots: lists(),
    alerts: new Map(),
  }
}

function lists(): Record<NetworkId, number[]> {
  return Object.fromEntries(networkIds.map((network) => [network, []])) as unknown as Record<NetworkId, number[]>
}

/** Finds everything in the state anew. */
export function fillDirectory(core: Core): void {
  Object.assign(core.directory, emptyDirectory())
  const { directory, state } = core
  state.wallets.forEach(({ network, address, archetype }, index) => {
    directory.wallets.set(placeOf(network, address), index)
    if (archetype === 'bot') directory.bots[network].push(index)
  })
  state.tokens.forEach((token, index) => addTokenToDirectory(core, token, index))
  for (const index of state.openedMarkets) {
    const token = state.tokens[index]
    if (token?.isAbandoned === false) directory.markets[token.network].push(index)
  }
  state.holdings.forEach(({ wallet, token, balance }, index) => {
    directory.holdings.set(holdingKey(wallet, token), index)
    if (balance > 0n) holdersOf(core, token).add(index)
  })
  for (const alert of state.alerts) addAlertToDirectory(core, alert)
}

/** A token is found by its address, and by a part of its symbol or name. */
export function addTokenToDirectory({ directory }: Core, token: TokenState, index: number): void {
  directory.tokens.set(placeOf(token.network, token.address), index)
  directory.names.add(`${token.symbol}\n${token.name}`)
}

/** An alert is found by what it is about. */
export function addAlertToDirectory({ directory }: Core, alert: WorldState['alerts'][number]): void {
  const place = placeOf(alert.network, alert.address)
  directory.alerts.set(place, [...(directory.alerts.get(place) ?? []), alert])
}
