import { holdersOf, holdingKey, holdingOf, tokenAt, walletAt, type Core } from './core.ts'
import type { HoldingState, WalletState } from './state.ts'

/** Gives a wallet some of what the contract or its creator holds. It has cost nothing. */
export function releaseReserve(core: Core, wallet: number, token: number, units: bigint): void {
  const released = tokenAt(core, token)
  const holding = openHolding(core, wallet, token)
  if (holding.balance === 0n) {
    released.holderCount++
    holding.openedAt = core.state.now
    noteHolder(core, wallet, token, true)
  }
  holding.balance += units
  released.reserved -= units
}

export function noteHolder(core: Core, wallet: number, token: number, isHolder: boolean): void {
  const index = core.directory.holdings.get(holdingKey(wallet, token)) ?? 0
  for (const set of [walletAt(core, wallet).open, holdersOf(core, token)]) {
    if (isHolder) set.add(index)
    else set.delete(index)
  }
}

/** A gain counts when the position is closed (R22, A12), or at once in the other mode. */
export function realize(core: Core, seller: WalletState, holding: HoldingState, gain: bigint, cost: bigint): void {
  holding.partGain += gain
  holding.partCost += cost
  if (core.options.pnlMode === 'closed' && holding.balance > 0n) return
  seller.realized += holding.partGain
  seller.realizedCost += holding.partCost
  holding.partGain = 0n
  holding.partCost = 0n
}

/** The holding of a wallet in a token; an empty one is made if there was none. */
export function openHolding(core: Core, wallet: number, token: number): HoldingState {
  const known = holdingOf(core, wallet, token)
  if (known) return known
  const holding: HoldingState = { wallet, token, balance: 0n, cost: 0n, partGain: 0n, partCost: 0n, openedAt: 0 }
  const index = core.state.holdings.push(holding) - 1
  core.directory.holdings.set(holdingKey(wallet, token), index)
  walletAt(core, wallet).holdings.push(index)
  return holding
}
