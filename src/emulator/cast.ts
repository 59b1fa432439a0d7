import { networkIds, type NetworkId } from '../../schema/index.ts'
import { toAddress } from './identity.ts'
import { createRandomStream, type RandomStream } from './random.ts'

/** A token that events speak of again and again. */
export interface CastToken {
  readonly network: NetworkId
  readonly address: string
  readonly pool: string
  readonly owner: string
  readonly symbol: string
  readonly name: string
  readonly priceUsd: number
  readonly liquidityUsd: number
}

export interface CastWallet {
  readonly network: NetworkId
  readonly address: string
}

/** Who appears in the events: the same few tokens and tracked wallets on each network, drawn from the seed. */
export interface Cast {
  readonly tokens: readonly CastToken[]
  readonly wallets: readonly CastWallet[]
}

/** Decentralised exchanges by network. */
export const dexNames: Readonly<Record<NetworkId, readonly string[]>> = {
  ethereum: ['Uniswap V2', 'Uniswap V3'],
  bnb: ['PancakeSwap'],
  solana: ['Raydium', 'Orca', 'Meteora', 'PumpSwap'],
  polygon: ['QuickSwap'],
  base: ['Aerodrome', 'Uniswap V3'],
  avalanche: ['Trader Joe', 'Pangolin'],
  arbitrum: ['Camelot', 'Uniswap V3'],
}

// Invented on purpose: a real symbol beside an invented address would mislead whoever reads the event.
const castNames: Readonly<Record<NetworkId, readonly [symbol: string, name: string][]>> = {
  ethereum: [
    ['KELP', 'Kelp Finance'],
    ['ORBT', 'Orbit Protocol'],
    ['MOSS', 'Moss Cat'],
  ],
  bnb: [
    ['BUNX', 'Bunny X'],
    ['GILD', 'Gilded'],
    ['TIDE', 'Tideswap'],
  ],
  solana: [
    ['FERN', 'Fern'],
    ['ZIPPO', 'Zippo the Dog'],
    ['LUMA', 'Luma Network'],
  ],
  polygon: [
    ['HEXA', 'Hexa Yield'],
    ['DRIFT', 'Driftwood'],
    ['PLUM', 'Plum Money'],
  ],
  base: [
    ['ONYX', 'Onyx Club'],
    ['BREW', 'Brew Coin'],
    ['SALT', 'Salt Lake'],
  ],
  avalanche: [
    ['FROST', 'Frostbyte'],
    ['PEAK', 'Peak Index'],
    ['YETI', 'Yeti Party'],
  ],
  arbitrum: [
    ['NOVAQ', 'Nova Quant'],
    ['RELAY', 'Relay Labs'],
    ['TUSK', 'Tusk'],
  ],
}

const freshWords = ['Moon', 'Pixel', 'Turbo', 'Quiet', 'Golden', 'Neon', 'Lucky', 'Salty', 'Iron', 'Velvet'] as const
const freshBeings = ['Otter', 'Frog', 'Panda', 'Comet', 'Robot', 'Llama', 'Raven', 'Badger', 'Squid', 'Wizard'] as const

/** Draws the cast of a seed: three tokens and three wallets per network. */
export function createCast(seed: string): Cast {
  return {
    tokens: networkIds.flatMap((network) =>
      castNames[network].map(([symbol, name]) => {
        const stream = createRandomStream(seed, `token:${network}:${symbol}`)
        return {
          network,
          address: toAddress(network, stream.bytes()),
          pool: toAddress(network, stream.bytes()),
          owner: toAddress(network, stream.bytes()),
          symbol,
          name,
          // Through text, since powers may differ in their last bit from machine to machine.
          priceUsd: Number(`${stream.between(1, 10, 5)}e${stream.integer(-4, 1)}`),
          liquidityUsd: stream.between(40_000, 4_000_000, 2),
        }
      }),
    ),
    wallets: networkIds.flatMap((network) =>
      [1, 2, 3].map((n) => ({
        network,
        address: toAddress(network, createRandomStream(seed, `wallet:${network}:${n}`).bytes()),
      })),
    ),
  }
}

/** A name for a token nobody has seen before. */
export function freshToken(stream: RandomStream): { symbol: string; name: string } {
  const word = stream.pick(freshWords)
  const being = stream.pick(freshBeings)
  return { symbol: `${word.slice(0, 2)}${being}`.toUpperCase(), name: `${word} ${being}` }
}
