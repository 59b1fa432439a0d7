import type { NetworkId } from '../../../schema/index.ts'

/** The coins that networks pay with. Three networks share one: its price is the same on each. */
export const coins = ['ETH', 'BNB', 'SOL', 'POL', 'AVAX'] as const
export type Coin = (typeof coins)[number]

export interface NetworkFacts {
  readonly name: string
  /** EVM chain id; null for Solana (A6). */
  readonly chainId: number | null
  readonly coin: Coin
  /** Base units of one coin, as a power of ten. */
  readonly coinDecimals: number
  readonly blockMs: number
  /** Exchanges and their fees in hundredths of a percent. */
  readonly dexes: readonly Dex[]
}

export interface Dex {
  readonly name: string
  readonly feeBps: number
}

/** Where tokens go that have completed their bonding curve (R102). */
export const migrationDex: Dex = dex('Raydium', 25)

/** What never changes about the seven networks (R4, R38, A6). */
export const networkFacts: Readonly<Record<NetworkId, NetworkFacts>> = {
  ethereum: evm('Ethereum', 1, 'ETH', 12_000, [dex('Uniswap V2', 30), dex('Uniswap V3', 30)]),
  bnb: evm('BNB Chain', 56, 'BNB', 750, [dex('PancakeSwap', 25)]),
  solana: {
    name: 'Solana',
    chainId: null,
    coin: 'SOL',
    coinDecimals: 9,
    blockMs: 400,
    dexes: [migrationDex, dex('Orca', 30), dex('Meteora', 30), dex('PumpSwap', 30)],
  },
  polygon: evm('Polygon', 137, 'POL', 2000, [dex('QuickSwap', 30)]),
  base: evm('Base', 8453, 'ETH', 2000, [dex('Aerodrome', 30), dex('Uniswap V3', 30)]),
  avalanche: evm('Avalanche', 43_114, 'AVAX', 2000, [dex('Trader Joe', 30), dex('Pangolin', 30)]),
  arbitrum: evm('Arbitrum One', 42_161, 'ETH', 250, [dex('Camelot', 30), dex('Uniswap V3', 30)]),
}

/** What a coin costs when the world begins, in USD. */
export const openingPricesUsd: Readonly<Record<Coin, number>> = { ETH: 3000, BNB: 600, SOL: 150, POL: 0.5, AVAX: 30 }

/** When the block began that something lands in that happens now: at or before this moment. */
export function blockTime(network: NetworkId, now: number): number {
  const { blockMs } = networkFacts[network]
  return Math.floor(now / blockMs) * blockMs
}

function evm(name: string, chainId: number, coin: Coin, blockMs: number, dexes: readonly Dex[]): NetworkFacts {
  return { name, chainId, coin, coinDecimals: 18, blockMs, dexes }
}

function dex(name: string, feeBps: number): Dex {
  return { name, feeBps }
}
