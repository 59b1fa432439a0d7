import { networkIds, type NetworkId } from '../../../schema/index.ts'
import { coinsForUsd, tokenAt, walletAt, type Core } from './core.ts'
import { dealBuy } from './dealing.ts'
import { fund } from './wallets.ts'
import { WorldRefusal, type StoryName } from './port.ts'
import { establishedOf, makeBagHolder, startCrash, startLaunch, startScam, trackedOf } from './stories.ts'

type Result = Readonly<Record<string, unknown>>

/** One of the named stories begins, on a network where it can. Throws `WorldRefusal` if there is none. */
export function tellStory(core: Core, story: StoryName): Result {
  const pick = <T>(items: readonly T[]) => core.chance.pick(core.state.streams.acts, items)
  switch (story) {
    case 'scam': {
      const network = pick(networkIds)
      return { token: tokenAt(core, startScam(core, network)).address, network }
    }
    case 'launch':
      return { token: tokenAt(core, startLaunch(core)).address, network: 'solana' }
    case 'whale': {
      const network = pick(
        somewhere(
          networkIds.filter((one) => whaleOf(core, one) !== undefined),
          'a tracked whale',
        ),
      )
      const whale = whaleOf(core, network) ?? 0
      const usd = core.chance.between(core.state.streams.acts, 40_000, 200_000)
      return spend(core, whale, pick(establishedOf(core, network)), usd)
    }
    case 'crash': {
      const token = pick(
        somewhere(
          networkIds.flatMap((network) => establishedOf(core, network)),
          'a token to fall',
        ),
      )
      startCrash(core, token)
      return { token: tokenAt(core, token).address, network: tokenAt(core, token).network }
    }
    case 'bag-holder':
      return bagHolder(core, pick(networkIds))
  }
}

/** Of the networks, the first from `network` on where it can be. */
function bagHolder(core: Core, network: NetworkId): Result {
  const first = networkIds.indexOf(network)
  for (const one of [...networkIds.slice(first), ...networkIds.slice(0, first)]) {
    const wallet = makeBagHolder(core, one)
    if (wallet !== null) return { wallet: walletAt(core, wallet).address, network: one }
  }
  throw new WorldRefusal('no network has two tokens whose prices can be moved')
}

function whaleOf(core: Core, network: NetworkId): number | undefined {
  if (establishedOf(core, network).length === 0) return undefined
  return trackedOf(core, network).find((wallet) => walletAt(core, wallet).archetype === 'whale')
}

function somewhere<T>(places: readonly T[], what: string): readonly T[] {
  if (places.length > 0) return places
  throw new WorldRefusal(`no network has ${what} at present`)
}

/** A wallet buys for so many dollars, which it is given if it lacks them. */
export function spend(core: Core, wallet: number, token: number, usd: number): Result {
  const { network, address } = walletAt(core, wallet)
  const coins = coinsForUsd(core, network, usd)
  fund(core, wallet, coins)
  dealBuy(core, wallet, token, coins)
  return { wallet: address, token: tokenAt(core, token).address, network }
}
