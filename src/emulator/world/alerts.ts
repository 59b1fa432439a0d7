import type { NetworkId } from '../../../schema/index.ts'
import { emit, plan, tokenAt, walletAt, numberChange, type Core, alertsByPlace, placeOf } from './core.ts'
import type { Traded } from './market.ts'
import { toUsd } from './numbers.ts'
import { WorldRefusal, type CommandOf, type CommandResult } from './port.ts'
import { isWhale } from './portfolio.ts'
import { changePct, hourlyVolume, priceUsd, type HourlyVolume } from './prices.ts'
import type { AlertState } from './state.ts'

/** Adds an alert. If its threshold is already passed, the value must first go back (A17). Throws `WorldRefusal`. */
export function addAlert(core: Core, command: CommandOf<'add-alert'>): CommandResult {
  const { alertId } = command
  if (core.state.alerts.some((known) => known.alertId === alertId)) {
    throw new WorldRefusal(`alert ${alertId} already exists`)
  }
  const alert = { ...command, isArmed: true, firedAt: null }
  const value = valueOf(core, alert)
  alert.isArmed = value === null || !isBeyond(alert, value)
  core.state.alerts.push(alert)
  core.directory.alerts = alertsByPlace(core.state.alerts)
  return { alertId }
}

/** Current value that an alert watches; null if there is no such value or no token yet. */
function valueOf(core: Core, { type, network, address }: AlertState): number | null {
  const token = core.directory.tokens.get(placeOf(network, address))
  if (token === undefined) return null
  if (isOnPrice(type)) return priceUsd(core, token)
  return type === 'volume_spike' ? (hourlyVolume(core, token)?.increasePct ?? null) : null
}

/** Removes an alert. Throws `WorldRefusal` if there is none of this id. */
export function removeAlert(core: Core, alertId: string): CommandResult {
  const alert = core.state.alerts.find((known) => known.alertId === alertId)
  if (alert === undefined) throw new WorldRefusal(`alert ${alertId} does not exist`)
  core.state.alerts.splice(core.state.alerts.indexOf(alert), 1)
  core.directory.alerts = alertsByPlace(core.state.alerts)
  return { alertId }
}

/** Five minutes after its last notification, an alert fires if it re-armed and its value is beyond the threshold (A17). */
export function checkRestedAlert(core: Core, alertId: string): void {
  const alert = core.state.alerts.find((known) => known.alertId === alertId)
  const token = alert && core.directory.tokens.get(placeOf(alert.network, alert.address))
  if (alert === undefined || token === undefined) return
  if (isOnPrice(alert.type)) return checkPriceAlert(core, token, alert, null)
  const hourly = hourlyVolume(core, token)
  if (hourly !== null) checkVolumeAlert(core, token, alert, hourly, null)
}

// When an alert on a price or a volume fires (A17).

/** Minimum time between two notifications of one alert. */
const restMs = 300_000
/** How far the value must go back after a notification, as a share of the threshold. */
const rearmShare = 0.005

/** True if a value is past the threshold of an alert. A value equal to the threshold is not. */
function isBeyond({ type, threshold }: AlertState, value: number): boolean {
  return type === 'price_below' ? value < threshold : value > threshold
}

/**
 * Whether an alert fires at this value. It fires once per crossing: at once, or at the end of its rest if the value is
 * still beyond the threshold.
 */
function isCrossed(core: Core, alert: AlertState, value: number): boolean {
  rearm(alert, value)
  const { now } = core.state
  if (!alert.isArmed || isResting(alert, now) || !isBeyond(alert, value)) return false
  alert.isArmed = false
  alert.firedAt = now
  if (!alert.isOneShot) plan(core, { kind: 'rested', alertId: alert.alertId }, restMs, false)
  return true
}

/** Re-arms an alert whose value went back far enough. */
function rearm(alert: AlertState, value: number): void {
  alert.isArmed ||= !isSpent(alert) && isBack(alert, value)
}

/** True within 5 minutes of a notification. */
export function isResting({ firedAt }: AlertState, now: number): boolean {
  return firedAt !== null && now < firedAt + restMs
}

/** True once a one-shot alert has fired. */
export function isSpent({ firedAt, isOneShot }: AlertState): boolean {
  return isOneShot && firedAt !== null
}

/** True if a value is back on the other side of the threshold. After a notification it must be at least 0.5 % away from it. */
function isBack(alert: AlertState, value: number): boolean {
  const { type, threshold, firedAt } = alert
  if (firedAt === null) return !isBeyond(alert, value)
  return type === 'price_below' ? value >= threshold * (1 + rearmShare) : value <= threshold * (1 - rearmShare)
}

/** Checks all price alerts after coin prices changed, in the order of their creation. */
export function checkAllPriceAlerts(core: Core): void {
  // A copy: a listener may remove an alert.
  for (const alert of core.state.alerts.slice()) {
    if (!isOnPrice(alert.type)) continue
    const token = core.directory.tokens.get(placeOf(alert.network, alert.address))
    if (token !== undefined) checkPriceAlert(core, token, alert, null)
  }
}

/** Checks the price alerts of a token whose price may have moved (R93, R104, A17). */
export function checkPriceAlerts(core: Core, token: number, cause: number): void {
  for (const alert of alertsOnToken(core, token)) checkPriceAlert(core, token, alert, cause)
}

function alertsOnToken(core: Core, token: number): readonly AlertState[] {
  const { network, address } = tokenAt(core, token)
  return alertsAt(core, network, address)
}

function alertsAt({ directory }: Core, network: NetworkId, address: string): readonly AlertState[] {
  return directory.alerts.size === 0 ? [] : (directory.alerts.get(placeOf(network, address)) ?? [])
}

/** True for price alerts. */
export function isOnPrice(type: AlertState['type']): type is 'price_above' | 'price_below' {
  return type === 'price_above' || type === 'price_below'
}

/** Emits an event if the price makes the alert fire. `cause`: the trade that moved the price; null if none did. */
function checkPriceAlert(core: Core, token: number, alert: AlertState, cause: number | null): void {
  const { type, threshold, alertId } = alert
  const price = priceUsd(core, token)
  if (!isOnPrice(type) || !isCrossed(core, alert, price)) return
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
  emit(core, 'token.price_alert', data, cause ?? numberChange(core), [alertId], 'owners')
}

/** Checks the volume alerts of a token that was just traded (A14, A17). */
export function checkVolumeAlerts(core: Core, token: number, cause: number): void {
  const alerts = alertsOnToken(core, token).filter(({ type }) => type === 'volume_spike')
  const hourly = alerts.length > 0 ? hourlyVolume(core, token) : null
  if (hourly === null) return
  for (const alert of alerts) {
    // Volume falls while nothing is traded: the value before this trade is how far it went back.
    rearm(alert, hourly.increaseBeforePct)
    checkVolumeAlert(core, token, alert, hourly, cause)
  }
}

/** Emits an event if the volume makes the alert fire. `cause`: the trade that raised it; null if none did. */
function checkVolumeAlert(
  core: Core,
  token: number,
  alert: AlertState,
  hourly: HourlyVolume,
  cause: number | null,
): void {
  if (!isCrossed(core, alert, hourly.increasePct)) return
  const { address, network, symbol } = tokenAt(core, token)
  const data = {
    token_address: address,
    network,
    symbol,
    alert_type: 'volume_spike' as const,
    threshold_pct: alert.threshold,
    increase_pct: hourly.increasePct,
    volume_1h_usd: toUsd(hourly.lastHour),
    mean_hourly_volume_usd: toUsd(hourly.mean),
  }
  emit(core, 'token.volume_spike', data, cause ?? numberChange(core), [alert.alertId], 'owners')
}

// Alerts on large trades: of a wallet, or of a token by whales (A15).

/** Alerts that a trade fires, in the order of their creation. Each trade counts on its own: there is no rest period. */
export function matchTradeAlerts(core: Core, traded: Traded, wasWhale: boolean): readonly string[] {
  const { wallet, kind, tokens, soldToken, value } = traded
  const { network, address } = walletAt(core, wallet)
  const isMet = ({ isArmed, threshold }: AlertState) => isArmed && toUsd(value) >= threshold
  const ofWallet = alertsAt(core, network, address).filter(
    // A swap is both a purchase and a sale.
    (alert) => kind !== (alert.type === 'whale_buy' ? 'sell' : 'buy') && isOnTrades(alert) && isMet(alert),
  )
  const ofTokens = tokens.flatMap((token) => {
    const type = token === soldToken ? 'whale_sell' : 'whale_buy'
    return alertsOnToken(core, token).filter((alert) => alert.type === type && isMet(alert))
  })
  const isByWhale = ofTokens.length > 0 && (wasWhale || isWhale(core, wallet))
  const met = new Set(isByWhale ? [...ofWallet, ...ofTokens] : ofWallet)
  for (const alert of met) {
    alert.isArmed = !alert.isOneShot
    alert.firedAt = core.state.now
  }
  const inOrder = met.size > 1 ? core.state.alerts.filter((alert) => met.has(alert)) : [...met]
  return inOrder.map(({ alertId }) => alertId)
}

function isOnTrades({ type }: AlertState): boolean {
  return type === 'whale_buy' || type === 'whale_sell'
}

/** True if a whale alert watches one of the tokens and the wallet is a whale. Ask before a sale: who sells everything is no whale afterwards. */
export function isWatchedWhale(core: Core, wallet: number, tokens: readonly number[]): boolean {
  return tokens.some((token) => alertsOnToken(core, token).some(isOnTrades)) && isWhale(core, wallet)
}
