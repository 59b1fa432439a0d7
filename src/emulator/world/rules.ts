import { audit, isHoneypot, liquidityMicro, riskLevel, summarise, summariseHoneypot } from './audit.ts'
import { coinPrice, emit, holdersOf, holdingAt, tokenAt, walletAt, numberChange, type Core } from './core.ts'
import type { Traded } from './market.ts'
import { toSignificant, toUsd } from './numbers.ts'
import { pnlOf, realizedUsd } from './portfolio.ts'
import { matchTradeAlerts, checkPriceAlerts, checkVolumeAlerts } from './alerts.ts'

// Rules that turn trades and audits into events (R93–R102).

/** Emits the events of a trade and checks alerts. `wasWhale`: whether the wallet was a whale before it (A5). */
export function reportTrade(core: Core, traded: Traded, wasWhale: boolean): void {
  const { isTracked } = walletAt(core, traded.wallet)
  const alertIds = matchTradeAlerts(core, traded, wasWhale)
  if (isTracked) emitNewPosition(core, traded)
  emitLargeTrade(core, traded, isTracked, alertIds)
  if (traded.isRealized && core.pendingMilestones === null) checkMilestones(core, traded.wallet)
  else if (traded.isRealized) core.pendingMilestones?.add(traded.wallet)
  for (const token of traded.tokens) {
    checkPriceAlerts(core, token, traded.seq)
    checkVolumeAlerts(core, token, traded.seq)
  }
}

function emitNewPosition(core: Core, { wallet, token, isNewPosition, amount, value, seq }: Traded): void {
  if (!isNewPosition) return
  const { network, address } = walletAt(core, wallet)
  const bought = tokenAt(core, token)
  const data = {
    wallet_address: address,
    network,
    token_address: bought.address,
    token_symbol: bought.symbol,
    entry_price_usd: toSignificant((value * 10n ** 36n) / amount, bought.decimals - 42, 12),
    amount_usd: toUsd(value),
    tx_hash: core.txHash(network, seq),
  }
  emit(core, 'wallet.new_position', data, seq)
}

/** Emits at most one event per trade, for the threshold, its alerts, or both (R96, A15, A42). */
function emitLargeTrade(core: Core, traded: Traded, isTracked: boolean, alertIds: readonly string[]): void {
  const { wallet, token, kind, value, seq } = traded
  const isReported = isTracked && toUsd(value) > core.state.rules.largeTradeUsd
  if (!isReported && alertIds.length === 0) return
  const { network, address } = walletAt(core, wallet)
  const { address: token_address, symbol } = tokenAt(core, token)
  const data = {
    wallet_address: address,
    network,
    trade_type: kind,
    token_address,
    token_symbol: symbol,
    amount_usd: toUsd(value),
    tx_hash: core.txHash(network, seq),
  }
  emit(core, 'wallet.large_trade', data, seq, alertIds, isReported ? 'all' : 'alerts')
}

/** Runs several trades at one moment. Milestones are checked after the last one, so that REST shows the same figures (R105). */
export function tradeAtOnce(core: Core, trade: () => void): void {
  if (core.pendingMilestones !== null) return trade()
  const wallets = (core.pendingMilestones = new Set<number>())
  try {
    trade()
  } finally {
    core.pendingMilestones = null
  }
  for (const wallet of wallets) checkMilestones(core, wallet)
}

/** Checks milestones when a position closes, at the present price: one event per wallet and sign (R98, A35). */
function checkMilestones(core: Core, wallet: number): void {
  const { seq } = core.state
  const owner = walletAt(core, wallet)
  const { network, address, milestones, isTracked } = owner
  const beforeUsd = toUsd(owner.judged)
  owner.judged = realizedUsd(core, wallet)
  if (!isTracked) return
  const afterUsd = toUsd(owner.judged)
  for (const size of core.state.rules.milestonesUsd) {
    for (const milestone of [size, -size]) {
      const isBeyond = (usd: number) => (milestone > 0 ? usd >= milestone : usd <= milestone)
      if (isBeyond(beforeUsd) || !isBeyond(afterUsd) || milestones.includes(milestone)) continue
      milestones.push(milestone)
      const { roi_pct } = pnlOf(core, wallet, 'all')
      const data = {
        wallet_address: address,
        network,
        milestone_usd: milestone,
        realized_pnl_usd: afterUsd,
        roi_pct,
        timeframe: 'all',
      }
      emit(core, 'wallet.pnl_milestone', data, seq)
    }
  }
}

/** Audits a contract again. Emits an event for a new honeypot, and for a sufficiently large change of the score. */
export function auditContract(core: Core, token: number): void {
  const audited = tokenAt(core, token)
  const { network, address, symbol, risk } = audited
  const { score, checks } = auditOf(core, token)
  if (checks.join() === risk.checks.join()) return
  const isNewHoneypot = isHoneypot(audited) && !risk.checks.includes('cannot_sell')
  const { toldScore, toldChecks } = risk
  const isReported = Math.abs(score - toldScore) > core.state.rules.riskSensitivity
  audited.risk = isReported
    ? { score, checks, toldScore: score, toldChecks: checks }
    : { score, checks, toldScore, toldChecks }
  const seq = numberChange(core)
  if (isReported) {
    const triggered = checks.filter((check) => !toldChecks.includes(check))
    const data = {
      token_address: address,
      network,
      symbol,
      previous_risk_score: toldScore,
      current_risk_score: score,
      risk_level: riskLevel(score),
      triggered_checks: triggered,
      ai_summary: summarise(symbol, toldScore, score, triggered),
    }
    emit(core, 'token.risk_change', data, seq)
  }
  if (!isNewHoneypot) return
  const type = audited.contract.honeypot ?? 'extreme_sell_tax'
  const holderCount = holdersOf(core, token).size
  const data = {
    contract_address: address,
    network,
    symbol,
    risk_score: score,
    honeypot_type: type,
    liquidity_usd: toUsd(liquidityMicro(audited, coinPrice(core, network))),
    holder_count: holderCount,
    ai_summary: summariseHoneypot(symbol, type, holderCount),
  }
  emit(core, 'contract.honeypot_detected', data, seq)
}

/** Audit of a token as it is now, or with the changes of `changed`. */
export function auditOf(core: Core, token: number, changed = tokenAt(core, token)) {
  return audit(changed, { coinPrice: coinPrice(core, changed.network), top10: top10Of(core, token) })
}

/** Units of the ten largest holders together. */
function top10Of(core: Core, token: number): bigint {
  return [...holdersOf(core, token)]
    .map((holding) => holdingAt(core, holding).balance)
    .toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0))
    .slice(0, 10)
    .reduce((sum, balance) => sum + balance, 0n)
}
