import { isCrossed } from './arming.ts'
import { emit, placeOf, tokenAt, writeLog, type Core } from './core.ts'
import { changePct, priceUsd } from './prices.ts'
import type { AlertState } from './state.ts'

/** All price alerts, once the coins cost something else: in the order in which they were set. */
export function noticePrices(core: Core): void {
  // A copy, since whoever is told may take an alert away.
  for (const alert of core.state.alerts.slice()) {
    if (!isOnPrice(alert.type)) continue
    const token = core.directory.tokens.get(placeOf(alert.network, alert.address))
    if (token !== undefined) noticePriceAlert(core, token, alert, null)
  }
}

/** Price alerts on a token whose price may have moved (R93, R104, A17). */
export function noticePrice(core: Core, token: number, cause: number): void {
  const { price } = core.directory.alerts
  if (price.size === 0) return
  const { network, address } = tokenAt(core, token)
  for (const alert of price.get(placeOf(network, address)) ?? []) noticePriceAlert(core, token, alert, cause)
}

/** Whether alerts of a type are on the price of a token. */
export function isOnPrice(type: AlertState['type']): type is 'price_above' | 'price_below' {
  return type === 'price_above' || type === 'price_below'
}

/** Notifies if the price of a token makes one alert on it fire. `cause`: the trade that moved the price; null if none did. */
export function noticePriceAlert(core: Core, token: number, alert: AlertState, cause: number | null): void {
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
  emit(core, 'token.price_alert', data, cause ?? writeLog(core, 'price-seen', token), [alertId], 'owners')
}
