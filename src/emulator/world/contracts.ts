import type { NetworkId } from '../../../schema/index.ts'
import { zeroAddress } from './addresses.ts'
import { type Core, emit, tokenAt, usdOfCoins, walletAt, numberChange } from './core.ts'
import { poolRatio, withdraw } from './exchange.ts'
import { roundUsd, toUsd } from './numbers.ts'
import { openWallet, markSeen, transfer } from './wallets.ts'
import type { HoneypotType } from './port.ts'
import { auditContract } from './rules.ts'
import type { ContractState } from './state.ts'

// Changes of contracts and their pools.

const largeRemovalPct = 20

const largeRemovalUsd = 10_000

/** Ends the market of a token. */
export function abandon(core: Core, token: number): void {
  const abandoned = tokenAt(core, token)
  abandoned.isAbandoned = true
  const markets = core.directory.markets[abandoned.network]
  if (markets.includes(token)) markets.splice(markets.indexOf(token), 1)
}

/** The creator removes liquidity; the price stays (R100, A39). */
export function removeLiquidity(core: Core, token: number, bpsTaken: number): void {
  const drained = tokenAt(core, token)
  const { pool, address, network, symbol, contract, creator } = drained
  if (pool === null) return
  const before = roundUsd(2n * usdOfCoins(core, network, pool.coins))
  const taken = withdraw(pool, bpsTaken)
  walletAt(core, creator).coins += taken.coins
  drained.fair = poolRatio(drained)
  const remaining = roundUsd(2n * usdOfCoins(core, network, pool.coins))
  const seq = numberChange(core)
  transfer(core, creator, token, taken.tokens, seq)
  const isLarge = bpsTaken >= largeRemovalPct * 100 || toUsd(before - remaining) >= largeRemovalUsd
  if (isLarge) {
    contract.wasLiquidityRemoved = true
    const data = {
      contract_address: address,
      network,
      symbol,
      pool_address: pool.address,
      liquidity_removed_usd: toUsd(before - remaining),
      liquidity_removed_pct: bpsTaken / 100,
      remaining_liquidity_usd: toUsd(remaining),
      tx_hash: core.txHash(network, seq),
    }
    emit(core, 'contract.liquidity_removed', data, seq)
  }
  auditContract(core, token)
}

/** Transfers the owner, or the mint authority on Solana (R101); null renounces it. */
export function transferOwner(core: Core, token: number, to: string | null): void {
  const owned = tokenAt(core, token)
  const { address, network, symbol, owner } = owned
  owned.owner = to ?? nobody(network)
  if (to === null) owned.contract.isMintable = false
  for (const named of [owner, owned.owner]) markSeen(core, openWallet(core, network, named))
  const seq = numberChange(core)
  const data = {
    contract_address: address,
    network,
    symbol,
    previous_owner: owner,
    new_owner: owned.owner,
    tx_hash: core.txHash(network, seq),
  }
  emit(core, 'contract.ownership_changed', data, seq)
  auditContract(core, token)
}

/** Changes a contract and audits it. */
export function changeContract(core: Core, token: number, change: Partial<ContractState>): void {
  Object.assign(tokenAt(core, token).contract, change)
  numberChange(core)
  auditContract(core, token)
}

const honeypotChanges: Readonly<Record<HoneypotType, Partial<ContractState>>> = {
  sell_blocked: {},
  extreme_sell_tax: { sellTaxBps: 10_000 },
  blacklist: { hasBlacklist: true },
  transfer_paused: { isPausable: true },
  fake_renounce: { hasHiddenOwner: true },
}

/** Makes a token unsellable (R99, A37). */
export function makeHoneypot(core: Core, token: number, honeypot: HoneypotType): void {
  changeContract(core, token, { ...honeypotChanges[honeypot], honeypot })
}

/** Owner address of a contract without an owner. */
export function nobody(network: NetworkId): string {
  return network === 'solana' ? '1'.repeat(32) : zeroAddress
}
