import { coinsToMicro } from './numbers.ts'
import { networkFacts } from './networks.ts'
import type { AuditCheck, TokenState } from './state.ts'

/** Findings of the audit and their weight in the score (0 to 100, higher is worse). */
const weights: Readonly<Record<AuditCheck, number>> = {
  owner_not_renounced: 10,
  mintable: 10,
  proxy: 8,
  hidden_owner: 15,
  blacklist: 10,
  transfer_pausable: 12,
  high_sell_tax: 25,
  cannot_sell: 45,
  low_liquidity: 20,
  lp_unlocked: 15,
  top10_concentration: 15,
  liquidity_removed: 30,
  mint_authority_live: 15,
  freeze_authority_live: 15,
}

const baseScore = 5
const lowLiquidityMicro = 10_000_000_000n
/** At this tax or more, selling is practically impossible. */
const honeypotTaxBps = 9900

export interface AuditFacts {
  readonly coinPrice: bigint
  /** Units of the ten largest holders. */
  readonly top10: bigint
}

export interface AuditResult {
  readonly score: number
  readonly checks: readonly AuditCheck[]
}

/** Audits a contract. Pure: depends on the contract and its pool only. */
export function audit(token: TokenState, facts: AuditFacts): AuditResult {
  const { contract, network } = token
  const isSolana = network === 'solana'
  const present: Readonly<Record<AuditCheck, boolean>> = {
    owner_not_renounced: !isSolana && !isRenounced(token.owner),
    mintable: !isSolana && contract.isMintable,
    proxy: contract.isProxy,
    hidden_owner: contract.hasHiddenOwner,
    blacklist: contract.hasBlacklist,
    transfer_pausable: contract.isPausable,
    high_sell_tax: contract.sellTaxBps > 1000,
    cannot_sell: isHoneypot(token),
    low_liquidity: token.pool !== null && isLiquidityLow(token, facts.coinPrice),
    lp_unlocked: token.pool !== null && !contract.isLiquidityLocked,
    top10_concentration: 2n * facts.top10 > token.supply,
    liquidity_removed: contract.wasLiquidityRemoved,
    mint_authority_live: isSolana && contract.isMintable,
    freeze_authority_live: isSolana && contract.isPausable,
  }
  const checks = (Object.keys(weights) as AuditCheck[]).filter((check) => present[check])
  const sum = checks.reduce((score, check) => score + weights[check], baseScore)
  return { score: Math.min(100, sum), checks }
}

/** True if buyers can't sell: sales fail, or the tax takes everything. */
export function isHoneypot(token: TokenState): boolean {
  return token.contract.honeypot !== null || token.contract.sellTaxBps >= honeypotTaxBps
}

/** Hysteresis: low liquidity must rise 10 % above the limit to count as sufficient again. */
function isLiquidityLow(token: TokenState, coinPrice: bigint): boolean {
  const line = token.risk.checks.includes('low_liquidity') ? (lowLiquidityMicro * 11n) / 10n : lowLiquidityMicro
  return liquidityMicro(token, coinPrice) < line
}

/** Both sides of the pool, or the coins raised by the curve, in millionths of a dollar. */
export function liquidityMicro(token: TokenState, coinPrice: bigint): bigint {
  const { coinDecimals } = networkFacts[token.network]
  if (token.pool !== null) return 2n * coinsToMicro(token.pool.coins, coinDecimals, coinPrice)
  return coinsToMicro(token.curve?.realCoins ?? 0n, coinDecimals, coinPrice)
}

/** The level of a score in a word (A36). */
export function riskLevel(score: number): 'low' | 'medium' | 'high' | 'critical' {
  if (score < 25) return 'low'
  if (score < 50) return 'medium'
  return score < 75 ? 'high' : 'critical'
}

export function isRenounced(owner: string): boolean {
  return /^(0x0+|1+)$/.test(owner)
}

/** Summary of a score change. */
export function summarise(symbol: string, before: number, after: number, triggered: readonly AuditCheck[]): string {
  const cause = triggered.length > 0 ? `new findings: ${triggered.join(', ')}` : 'earlier findings no longer apply'
  return `The risk score of ${symbol} went from ${before} to ${after} (${riskLevel(after)}); ${cause}.`
}

export function summariseHoneypot(symbol: string, type: string, holderCount: number): string {
  return `A simulated sale of ${symbol} fails (${type}): its ${holderCount} holders cannot sell.`
}
