import type { NetworkId } from '../../../schema/index.ts'

/** Native coins. Three networks share one: its price is the same on each. */
export const coins = ['ETH', 'BNB', 'SOL', 'POL', 'AVAX'] as const
export type Coin = (typeof coins)[number]

/** Exchange for tokens that completed their bonding curve (R102). */
export const migrationDex = dex('Raydium', 25)

/** Constant facts of the seven networks (R4, R38, A6). */
export const networkFacts = {
  ethereum: facts('Ethereum', 1, 'ETH', 18, [dex('Uniswap V2', 30), dex('Uniswap V3', 30)]),
  bnb: facts('BNB Chain', 56, 'BNB', 18, [dex('PancakeSwap', 25)]),
  solana: facts('Solana', null, 'SOL', 9, [migrationDex, dex('Orca', 30), dex('Meteora', 30), dex('PumpSwap', 30)]),
  polygon: facts('Polygon', 137, 'POL', 18, [dex('QuickSwap', 30)]),
  base: facts('Base', 8453, 'ETH', 18, [dex('Aerodrome', 30), dex('Uniswap V3', 30)]),
  avalanche: facts('Avalanche', 43_114, 'AVAX', 18, [dex('Trader Joe', 30), dex('Pangolin', 30)]),
  arbitrum: facts('Arbitrum One', 42_161, 'ETH', 18, [dex('Camelot', 30), dex('Uniswap V3', 30)]),
} satisfies Record<NetworkId, unknown>

/** Initial coin prices in USD. */
export const openingPricesUsd: Readonly<Record<Coin, number>> = { ETH: 3000, BNB: 600, SOL: 150, POL: 0.5, AVAX: 30 }

/** `chainId`: null for Solana (A6). `coinDecimals`: base units of one coin, as a power of ten. */
function facts(name: string, chainId: number | null, coin: Coin, coinDecimals: number, dexes: readonly Dex[]) {
  return { name, chainId, coin, coinDecimals, dexes }
}

type Dex = ReturnType<typeof dex>

/** An exchange and its fee in hundredths of a percent. */
function dex(name: string, feeBps: number) {
  return { name, feeBps }
}
