import { networkIds, type NetworkId } from '../../../schema/index.ts'
import type { AlertState, WorldState } from './state.ts'
import { holdingKey } from './trade-log.ts'

/** Indexes of wallets, tokens, holdings and alerts. Built from the state. */
export interface Directory {
  readonly wallets: Map<string, number>
  readonly tokens: Map<string, number>
  readonly holdings: Map<number, number>
  /** Non-empty holdings by token. */
  readonly holders: Set<number>[]
  /** Actively traded tokens with a pool, by network. */
  readonly markets: Readonly<Record<NetworkId, number[]>>
  /** Market makers by network. */
  readonly bots: Readonly<Record<NetworkId, number[]>>
  /** Alerts by the place of their address, in the order of creation. */
  alerts: ReadonlyMap<string, readonly AlertState[]>
}

/** Map key of a canonical address. */
export function placeOf(network: NetworkId, address: string): string {
  return `${network}:${address}`
}

export function createDirectory({ wallets, tokens, openedMarkets, holdings, alerts }: WorldState): Directory {
  const holders: Set<number>[] = tokens.map(() => new Set())
  holdings.forEach(({ token, balance }, index) => balance > 0n && holders[token]?.add(index))
  const open = openedMarkets.filter((token) => tokens[token]?.isAbandoned === false)
  const indexes = wallets.map((_, index) => index)
  return {
    wallets: new Map(wallets.map(({ network, address }, index) => [placeOf(network, address), index])),
    tokens: new Map(tokens.map(({ network, address }, index) => [placeOf(network, address), index])),
    holdings: new Map(holdings.map(({ wallet, token }, index) => [holdingKey(wallet, token), index])),
    holders,
    markets: byNetwork((network) => open.filter((token) => tokens[token]?.network === network)),
    bots: byNetwork((network) =>
      indexes.filter((index) => wallets[index]?.network === network && wallets[index].archetype === 'bot'),
    ),
    alerts: alertsByPlace(alerts),
  }
}

function byNetwork(of: (network: NetworkId) => number[]): Record<NetworkId, number[]> {
  return Object.fromEntries(networkIds.map((network) => [network, of(network)])) as Record<NetworkId, number[]>
}

export function alertsByPlace(alerts: readonly AlertState[]): Directory['alerts'] {
  return Map.groupBy(alerts, ({ network, address }) => placeOf(network, address))
}
