import type { NetworkId } from '../../../schema/index.ts'
import type { Chance, Stream } from '../random.ts'

/** Tokens of the initial world. Invented: a real symbol with an invented address would mislead. */
export const establishedNames: Readonly<Record<NetworkId, readonly (readonly [symbol: string, name: string])[]>> = {
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

const words =
  'Moon Pixel Turbo Quiet Golden Neon Lucky Salty Iron Velvet Cosmic Sleepy Crimson Frozen Wild Tiny Hyper Silent Amber Rusty'.split(
    ' ',
  )
const beings =
  'Otter Frog Panda Comet Robot Llama Raven Badger Squid Wizard Heron Tapir Falcon Gecko Walrus Dragon Beetle Monk Pirate Cactus'.split(
    ' ',
  )

/** Random name for a new token. */
export function freshName(chance: Chance, stream: Stream): { readonly symbol: string; readonly name: string } {
  const word = chance.pick(stream, words)
  const being = chance.pick(stream, beings)
  return { symbol: `${word.slice(0, 2)}${being}`.toUpperCase(), name: `${word} ${being}` }
}
