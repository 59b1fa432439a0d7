import type { NetworkId } from '../../../schema/index.ts'
import { toAddress } from './addresses.ts'
import { type Core, coinsForMicro, holdersOf, holdingOf, newStream, walletAt, placeOf } from './core.ts'
import type { Archetype } from './port.ts'
import type { HoldingState, WalletState } from './state.ts'
import { holdingKey } from './trade-log.ts'

/** Index of the wallet at an address; opens an empty one if unknown. */
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

/** Makes the wallet visible to REST. */
export function markSeen(core: Core, wallet: number): void {
  const seen = walletAt(core, wallet)
  seen.seenAt ??= core.state.now
}

/** Address derived from a name. */
export function addressFor(core: Core, network: NetworkId, name: string): string {
  return toAddress(network, core.chance.bytes(`address:${network}:${name}`))
}

/** Mints the coins that a wallet lacks to pay `coins`. */
export function fund(core: Core, wallet: number, coins: bigint): void {
  const owner = walletAt(core, wallet)
  if (owner.coins >= coins) return
  core.state.networks[owner.network].minted += coins - owner.coins
  owner.coins = coins
}

/** Books received units (negative: sold) and the change of cost. */
export function book(core: Core, wallet: number, token: number, units: bigint, cost: bigint): HoldingState {
  const holding = openHolding(core, wallet, token)
  const wasEmpty = holding.balance === 0n
  holding.balance += units
  holding.cost += cost
  markSeen(core, wallet)
  if (wasEmpty && units > 0n) holding.openedAt = core.state.now
  if (wasEmpty !== (holding.balance === 0n)) noteHolder(core, holding, wasEmpty)
  return holding
}

/** Books units received without a trade, at no cost (A12): by a mint or by removed liquidity. */
export function transfer(core: Core, wallet: number, token: number, units: bigint, seq: number): void {
  if (units === 0n) return
  const { balance, cost } = book(core, wallet, token, units, 0n)
  const { realized, realizedCost } = walletAt(core, wallet)
  const unpriced = { coins: 0n, value: 0n, fee: 0n, mark: { mantissa: 0, exponent: 0 }, volume: 0n }
  const leg = { token, kind: 'transfer' as const, amount: units, balance, cost, ...unpriced }
  core.trades.add({ at: core.state.now, seq, wallet, legs: [leg], impactPct: 0, realized, realizedCost })
}

/**
 * Realizes a gain when the position is closed (R22, A12), or at once in mode `disposals`. True if realized now. From
 * then on it is coins, whose value moves with the price (R26).
 */
export function realize(core: Core, seller: WalletState, holding: HoldingState, gain: bigint, cost: bigint): boolean {
  holding.partGain += gain
  holding.partCost += cost
  if (core.options.pnlMode === 'closed' && holding.balance > 0n) return false
  seller.realized += coinsForMicro(core, seller.network, holding.partGain)
  seller.realizedCost += holding.partCost
  holding.partGain = 0n
  holding.partCost = 0n
  return true
}

function noteHolder(core: Core, { wallet, token }: HoldingState, isHolder: boolean): void {
  const index = core.directory.holdings.get(holdingKey(wallet, token)) ?? 0
  for (const set of [walletAt(core, wallet).open, holdersOf(core, token)]) {
    if (isHolder) set.add(index)
    else set.delete(index)
  }
}

/** Holding of a wallet in a token; creates an empty one if missing. */
function openHolding(core: Core, wallet: number, token: number): HoldingState {
  const known = holdingOf(core, wallet, token)
  if (known) return known
  const holding = { wallet, token, balance: 0n, cost: 0n, partGain: 0n, partCost: 0n, openedAt: 0 }
  const index = core.state.holdings.push(holding) - 1
  core.directory.holdings.set(holdingKey(wallet, token), index)
  walletAt(core, wallet).holdings.push(index)
  return holding
}
