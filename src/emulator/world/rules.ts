import { audit, isHoneypot, liquidityMicro, riskLevel, summarise, summariseHoneypot } from './audit.ts'
import { coinPrice, emit, holdersOf, holdingAt, placeOf, tokenAt, walletAt, writeLog, type Core } from './core.ts'
import type { Traded } from './market.ts'
import { toSignificant, toUsd } from './numbers.ts'
import { pnlOf } from './pnl.ts'
import { changePct, priceUsd } from './prices.ts'
import type { AlertState } from './state.ts'

// What makes an event of what has happened (R93–R102).

/** How long an alert rests before it fires again (A17). */
export const rearmMs = 300_000
/** How far the price must go back meanwhile. */
const rearmShare = 0.005

/** Whoever watches wallets and prices looks at a trade. */
export function noticeTrade(core: Core, traded: Traded): void {
  const wallet = walletAt(core, traded.wallet)
  if (wallet.isTracked) {
    noticeNewPosition(core, traded)
    noticeLargeTrade(core, traded)
    if (traded.soldToken !== null) noticeMilestones(core, traded)
  }
  for (const token of traded.tokens) noticePrice(core, token, traded.seq)
}

function noticeNewPosition(core: Core, { wallet, token, isNewPosition, amount, amountValue, seq }: Traded): void {
  if (!isNewPosition) return
  const { network, address } = walletAt(core, wallet)
  const bought = tokenAt(core, token)
  const data = {
    wallet_address: address,
    network,
    token_address: bought.address,
    token_symbol: bought.symbol,
    entry_price_usd: toSignificant((amountValue * 10n ** 36n) / amount, bought.decimals - 42, 12),
    amount_usd: toUsd(amountValue),
    tx_hash: core.txHash(network, seq),
  }
  emit(core, 'wallet.new_position', data, seq)
}

function noticeLargeTrade(core: Core, { wallet, token, kind, value, seq }: Traded): void {
  if (toUsd(value) <= core.state.rules.largeTradeUsd) return
  const { network, address } = walletAt(core, wallet)
  const traded = tokenAt(core, token)
  const data = {
    wallet_address: address,
    network,
    trade_type: kind,
    token_address: traded.address,
    token_symbol: traded.symbol,
    amount_usd: toUsd(value),
    tx_hash: core.txHash(network, seq),
  }
  emit(core, 'wallet.large_trade', data, seq)
}

/** A milestone that a sale crosses is told, once per wallet and sign (R98, A35). */
function noticeMilestones(core: Core, { wallet, seq, realizedBefore }: Traded): void {
  const { network, address, milestones, realized } = walletAt(core, wallet)
  const beforeUsd = toUsd(realizedBefore)
  const realizedUsd = toUsd(realized)
  for (const size of core.state.rules.milestonesUsd) {
    for (const milestone of [size, -size]) {
      const isBeyond = (usd: number) => (milestone > 0 ? usd >= milestone : usd <= milestone)
      if (isBeyond(beforeUsd) || !isBeyond(realizedUsd) || milestones.includes(milestone)) continue
      milestones.push(milestone)
      const { roi_pct } = pnlOf(core, wallet, 'all')
      const data = {
        wallet_address: address,
        network,
        milestone_usd: milestone,
        realized_pnl_usd: realizedUsd,
        roi_pct,
        timeframe: 'all',
      }
      emit(core, 'wallet.pnl_milestone', data, seq)
    }
  }
}

/** All price alerts, once the coins cost something else: in the order in which they were set. */
export function noticePrices(core: Core): void {
  // A copy, since whoever is told may take an alert away.
  for (const alert of core.state.alerts.slice()) {
    const token = core.directory.tokens.get(placeOf(alert.network, alert.address))
    if (token !== undefined) noticeAlert(core, token, alert, null)
  }
}

/** Price alerts on a token whose price may have moved (R93, R104, A17). */
function noticePrice(core: Core, token: number, cause: number): void {
  const { network, address } = tokenAt(core, token)
  const alerts = core.directory.alerts.get(placeOf(network, address))
  if (alerts === undefined) return
  for (const alert of alerts) noticeAlert(core, token, alert, cause)
}

function noticeAlert(core: Core, token: number, alert: AlertState, cause: number | null): void {
  const { type, threshold } = alert
  if (type !== 'price_above' && type !== 'price_below') return
  const price = priceUsd(core, token)
  const isBeyond = type === 'price_above' ? price > threshold : price < threshold
  if (!alert.isArmed) {
    alert.isArmed = !isBeyond && isRearmed(alert, price, core.state.now)
    return
  }
  if (!isBeyond) return
  alert.isArmed = false
  alert.firedAt = core.state.now
  const { address, network, symbol } = tokenAt(core, token)
  const data = {
    token_address: address,
    network,
    symbol,
    alert_type: type,
    threshold_usd: threshold,
    current_price_usd: price,
    change_pct_24h: changePct(core, token),
  }
  emit(core, 'token.price_alert', data, cause ?? writeLog(core, 'price-seen', token), alert.alertId)
}

/** Whether a price is back far enough, and long enough after the last time, for an alert to fire once more (A17). */
function isRearmed({ type, threshold, firedAt }: AlertState, price: number, now: number): boolean {
  if (firedAt === null) return true
  const line = threshold * (type === 'price_above' ? 1 - rearmShare : 1 + rearmShare)
  const isBack = type === 'price_above' ? price <= line : price >= line
  return isBack && now >= firedAt + rearmMs
}

/** The audit looks at a contract again; it tells of a honeypot, and of a score that has moved far enough. */
export function noticeContract(core: Core, token: number): void {
  const audited = tokenAt(core, token)
  const { network, address, symbol, risk, holderCount } = audited
  const price = coinPrice(core, network)
  const { score, checks } = audit(audited, { coinPrice: price, top10: top10Of(core, token) })
  if (checks.join() === risk.checks.join()) return
  const isNewHoneypot = isHoneypot(audited) && !risk.checks.includes('cannot_sell')
  const { toldScore, toldChecks } = risk
  const isTold = Math.abs(score - toldScore) > core.state.rules.riskSensitivity
  audited.risk = isTold
    ? { score, checks, toldScore: score, toldChecks: checks }
    : { score, checks, toldScore, toldChecks }
  const seq = writeLog(core, 'audited', token)
  if (isTold) {
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
  const data = {
    contract_address: address,
    network,
    symbol,
    risk_score: score,
    honeypot_type: type,
    liquidity_usd: toUsd(liquidityMicro(audited, price)),
    holder_count: holderCount,
    ai_summary: summariseHoneypot(symbol, type, holderCount),
  }
  emit(core, 'contract.honeypot_detected', data, seq)
}

/** What the ten largest holders have together. */
export function top10Of(core: Core, token: number): bigint {
  return [...holdersOf(core, token)]
    .map((holding) => holdingAt(core, holding).balance)
    .toSorted((a, b) => (a < b ? 1 : a > b ? -1 : 0))
    .slice(0, 10)
    .reduce((sum, balance) => sum + balance, 0n)
}
