import type { NetworkId } from '../../../schema/index.ts'
import { toWalletAddress } from './addresses.ts'
import { newStream, placeOf, walletAt, type Core } from './core.ts'
import type { Archetype } from './port.ts'

/** The wallet at an address; one that nobody knew comes with no coins. */
export function openWallet(
  core: Core,
  network: NetworkId,
  address: string,
  archetype: Archetype | null = null,
): number {
  const place = placeOf(network, address)
  const known = core.directory.wallets.get(place)
  if (known !== undefined) return known
  const index =
    core.state.wallets.push({
      network,
      address,
      archetype,
      coins: 0n,
      isTracked: false,
      seenAt: null,
      stream: newStream(`wallet:${place}`),
      open: new Set(),
      holdings: [],
      realized: 0n,
      realizedCost: 0n,
      judged: 0n,
      milestones: [],
    }) - 1
  core.directory.wallets.set(place, index)
  return index
}

/** From now on REST knows the wallet. */
export function see(core: Core, wallet: number): void {
  const seen = walletAt(core, wallet)
  seen.seenAt ??= core.state.now
}

/** The address of a wallet that a name stands for. */
export function addressFor(core: Core, network: NetworkId, name: string): string {
  return toWalletAddress(network, core.chance.bytes(`address:${network}:${name}`))
}

/** Gives a wallet what it lacks to pay so many coins. */
export function fund(core: Core, wallet: number, coins: bigint): void {
  const owner = walletAt(core, wallet)
  if (owner.coins >= coins) return
  core.state.networks[owner.network].minted += coins - owner.coins
  owner.coins = coins
}
