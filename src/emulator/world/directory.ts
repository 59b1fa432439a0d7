import { networkIds, type NetworkId } from '../../../schema/index.ts'
import { holdersOf, placeOf, type Core, type Directory, type Watch } from './core.ts'
import type { AlertState, TokenState } from './state.ts'
import { holdingKey } from './trade-log.ts'
import type { AlertType } from '../../../schema/rest/alert.ts'

export function emptyDirectory(): Directory {
  return {
    wallets: new Map(),
    tokens: new Map(),
    holdings: new Map(),
    holders: [],
    markets: lists(),
    bots: lists(),
    alerts: { price: new Map(), volume: new Map(), trade: new Map() },
  }
}

function lists(): Record<NetworkId, number[]> {
  return Object.fromEntries(networkIds.map((network) => [network, []])) as unknown as Record<NetworkId, number[]>
}

/** Rebuilds the directory from the state. */
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

export function addTokenToDirectory({ directory }: Core, token: TokenState, index: number): void {
  directory.tokens.set(placeOf(token.network, token.address), index)
}

const watchOf: Readonly<Record<AlertType, Watch>> = {
  price_above: 'price',
  price_below: 'price',
  volume_spike: 'volume',
  whale_buy: 'trade',
  whale_sell: 'trade',
}

export function addAlertToDirectory({ directory }: Core, alert: AlertState): void {
  const alerts = directory.alerts[watchOf[alert.type]]
  const place = placeOf(alert.network, alert.address)
  alerts.set(place, [...(alerts.get(place) ?? []), alert])
}

export function removeAlertFromDirectory({ directory }: Core, alert: AlertState): void {
  const alerts = directory.alerts[watchOf[alert.type]]
  const place = placeOf(alert.network, alert.address)
  const left = alerts.get(place)?.filter((other) => other !== alert) ?? []
  if (left.length > 0) alerts.set(place, left)
  else alerts.delete(place)
}
