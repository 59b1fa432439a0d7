import type { NetworkId } from '../../../schema/index.ts'

/** Native coins. Three networks share one: its price is the same on each. */
export const coins = ['ETH', 'BNB', 'SOL', 'POL', 'AVAX'] as const
export type Coin = (typeof coins)[number]

export interface NetworkFacts {
  readonly name: string
  /** EVM chain id; null for Solana (A6). */
  readonly chainId: number | null
  readonly coin: Coin
  /** Base units of one coin, as a power of ten. */
  readonly coinDecimals: number
  /** Exchanges and their fees in hundredths of a percent. */
  readonly dexes: readonly Dex[]
}

export interface Dex {
  readonly name: string
  readonly feeBps: number
}

/** Exchange for tokens that completed their bonding curve (R102). */
export const migrationDex: Dex = dex('Raydium', 25)

/** Constant facts of the seven networks (R4, R38, A6). */
export const networkFacts: Readonly<Record<NetworkId, NetworkFacts>> = {
  ethereum: evm('Ethereum', 1, 'ETH', [dex('Uniswap V2', 30), dex('Uniswap V3', 30)]),
  bnb: evm('BNB Chain', 56, 'BNB', [dex('PancakeSwap', 25)]),
  solana: {
    name: 'Solana',
    chainId: null,
    coin: 'SOL',
    coinDecimals: 9,
    dexes: [migrationDex, dex('Orca', 30), dex('Meteora', 30), dex('PumpSwap', 30)],
  },
  polygon: evm('Polygon', 137, 'POL', [dex('QuickSwap', 30)]),
  base: evm('Base', 8453, 'ETH', [dex('Aerodrome', 30), dex('Uniswap V3', 30)]),
  avalanche: evm('Avalanche', 43_114, 'AVAX', [dex('Trader Joe', 30), dex('Pangolin', 30)]),
  arbitrum: evm('Arbitrum One', 42_161, 'ETH', [dex('Camelot', 30), dex('Uniswap V3', 30)]),
}

/** Initial coin prices in USD. */
export const openingPricesUsd: Readonly<Record<Coin, number>> = { ETH: 3000, BNB: 600, SOL: 150, POL: 0.5, AVAX: 30 }

function evm(name: string, chainId: number, coin: Coin, dexes: readonly Dex[]): NetworkFacts {
  return { name, chainId, coin, coinDecimals: 18, dexes }
}

function dex(name: string, feeBps: number): Dex {
  return { name, feeBps }
}
