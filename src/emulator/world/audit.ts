import { coinsToMicro } from './numbers.ts'
import { networkFacts } from './networks.ts'
import type { TokenState } from './state.ts'

const baseScore = 5
const lowLiquidityMicro = 10_000_000_000n
/** At this tax or more, selling is practically impossible. */
const honeypotTaxBps = 9900

export interface AuditFacts {
  readonly coinPrice: bigint
  /** Units of the ten largest holders. */
  readonly top10: bigint
}

type Finding = readonly [weight: number, isPresent: (token: TokenState, facts: AuditFacts) => boolean]

/** Findings of the audit by name, in the order of events, with their weight in the score (0 to 100, higher is worse). */
const findings: Readonly<Record<string, Finding>> = {
  owner_not_renounced: [10, ({ network, owner }) => network !== 'solana' && !isRenounced(owner)],
  mintable: [10, ({ network, contract }) => network !== 'solana' && contract.isMintable],
  proxy: [8, ({ contract }) => contract.isProxy],
  hidden_owner: [15, ({ contract }) => contract.hasHiddenOwner],
  blacklist: [10, ({ contract }) => contract.hasBlacklist],
  transfer_pausable: [12, ({ contract }) => contract.isPausable],
  high_sell_tax: [25, ({ contract }) => contract.sellTaxBps > 1000],
  cannot_sell: [45, isHoneypot],
  low_liquidity: [20, (token, { coinPrice }) => token.pool !== null && isLiquidityLow(token, coinPrice)],
  lp_unlocked: [15, ({ pool, contract }) => pool !== null && !contract.isLiquidityLocked],
  top10_concentration: [15, ({ supply }, { top10 }) => 2n * top10 > supply],
  liquidity_removed: [30, ({ contract }) => contract.wasLiquidityRemoved],
  mint_authority_live: [15, ({ network, contract }) => network === 'solana' && contract.isMintable],
  freeze_authority_live: [15, ({ network, contract }) => network === 'solana' && contract.isPausable],
}

/** Audits a contract. Pure: depends on the contract and its pool only. */
export function audit(token: TokenState, facts: AuditFacts) {
  const present = Object.entries(findings).filter(([, [, isPresent]]) => isPresent(token, facts))
  const sum = present.reduce((score, [, [weight]]) => score + weight, baseScore)
  return { score: Math.min(100, sum), checks: present.map(([name]) => name) }
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
export function summarise(symbol: string, before: number, after: number, triggered: readonly string[]): string {
  const cause = triggered.length > 0 ? `new findings: ${triggered.join(', ')}` : 'earlier findings no longer apply'
  return `The risk score of ${symbol} went from ${before} to ${after} (${riskLevel(after)}); ${cause}.`
}

export function summariseHoneypot(symbol: string, type: string, holderCount: number): string {
  return `A simulated sale of ${symbol} fails (${type}): its ${holderCount} holders cannot sell.`
}
