import { isCrossed, rearm } from './arming.ts'
import { emit, placeOf, tokenAt, writeLog, type Core } from './core.ts'
import { hourlyVolume, type HourlyVolume } from './prices.ts'
import { toUsd } from './numbers.ts'
import type { AlertState } from './state.ts'

/** Alerts on the volume of a token of which something was just traded (A14, A17). */
export function noticeVolume(core: Core, token: number, cause: number): void {
  const { volume } = core.directory.alerts
  if (volume.size === 0) return
  const { network, address } = tokenAt(core, token)
  const alerts = volume.get(placeOf(network, address))
  const hourly = alerts && hourlyVolume(core, token)
  if (!hourly) return
  for (const alert of alerts) {
    // It falls while nothing is traded: what it was before this trade is what it went back to.
    rearm(alert, hourly.increaseBeforePct)
    noticeVolumeAlert(core, token, alert, hourly, cause)
  }
}

/** Notifies if the volume of a token makes one alert on it fire. `cause`: the trade that raised it; null if none did. */
export function noticeVolumeAlert(
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
  emit(core, 'token.volume_spike', data, cause ?? writeLog(core, 'volume-seen', token), [alert.alertId], 'owners')
}
