import { readAddress, type ActOf, type Result } from './act-targets.ts'
import { isBeyond, isSpent } from './arming.ts'
import { placeOf, type Core } from './core.ts'
import { crossAlert } from './crossing.ts'
import { addAlertToDirectory, removeAlertFromDirectory } from './directory.ts'
import { readPositive } from './limits.ts'
import { WorldRefusal } from './port.ts'
import { isOnPrice, noticePriceAlert } from './price-alerts.ts'
import { hourlyVolume, priceUsd } from './prices.ts'
import { spike } from './spiking.ts'
import type { AlertState } from './state.ts'
import { tradeForAlert } from './trading-large.ts'
import { noticeVolumeAlert } from './volume-alerts.ts'

/** An alert is set. One whose line is passed already waits until that is no longer so (A17). Throws `WorldRefusal`. */
export function addAlert(core: Core, act: ActOf<'add-alert'>): Result {
  const { alertId, type, network, isOneShot = false } = act
  const address = readAddress('address', network, act.address)
  const threshold = readPositive('threshold', act.threshold)
  if (core.state.alerts.some((known) => known.alertId === alertId)) {
    throw new WorldRefusal(`alert ${alertId}: there is one of this id already`)
  }
  const alert = { alertId, type, network, address, threshold, isOneShot, isArmed: true, firedAt: null }
  const value = valueOf(core, alert)
  alert.isArmed = value === null || !isBeyond(alert, value)
  core.state.alerts.push(alert)
  addAlertToDirectory(core, alert)
  return { alertId }
}

/** What an alert watches at present; null if it is nothing that goes up and down, or not there yet. */
function valueOf(core: Core, { type, network, address }: AlertState): number | null {
  const token = core.directory.tokens.get(placeOf(network, address))
  if (token === undefined) return null
  if (isOnPrice(type)) return priceUsd(core, token)
  return type === 'volume_spike' ? (hourlyVolume(core, token)?.increasePct ?? null) : null
}

/** An alert is taken away. Throws `WorldRefusal` if there is none of this id. */
export function removeAlert(core: Core, alertId: string): Result {
  const alert = findAlert(core, alertId)
  core.state.alerts.splice(core.state.alerts.indexOf(alert), 1)
  removeAlertFromDirectory(core, alert)
  return { alertId }
}

/** Five minutes after its last notification, an alert fires if it re-armed and its value is beyond the threshold (A17). */
export function noticeRested(core: Core, alertId: string): void {
  const alert = core.state.alerts.find((known) => known.alertId === alertId)
  const token = alert && core.directory.tokens.get(placeOf(alert.network, alert.address))
  if (alert === undefined || token === undefined) return
  if (isOnPrice(alert.type)) return noticePriceAlert(core, token, alert, null)
  const hourly = hourlyVolume(core, token)
  if (hourly !== null) noticeVolumeAlert(core, token, alert, hourly, null)
}

/** The condition of an alert comes true, by the shortest story. Throws `WorldRefusal` if there is none now. */
export function fireAlert(core: Core, alertId: string): Result {
  const alert = findAlert(core, alertId)
  if (isSpent(alert)) {
    throw new WorldRefusal(`alert ${alertId}: it has fired, and fires once only: create another`)
  }
  if (isOnPrice(alert.type)) return crossAlert(core, alert)
  return alert.type === 'volume_spike' ? spike(core, alert) : tradeForAlert(core, alert)
}

function findAlert(core: Core, alertId: string): AlertState {
  const alert = core.state.alerts.find((known) => known.alertId === alertId)
  if (alert === undefined) throw new WorldRefusal(`alert ${alertId}: there is none`)
  return alert
}
