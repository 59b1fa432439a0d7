import type { ReplayRequest, ShownDelivery, ShownReport } from '../emulator/control/delivery-routes.ts'
import type { ShownClock } from '../emulator/control/shown.ts'
import type { ShownTriggered, TriggerOrder } from '../emulator/control/trigger-routes.ts'
import type { Counts } from '../emulator/deliveries/port.ts'
import type { StoredRule } from '../emulator/faults/port.ts'
import type { WorldEvent } from '../emulator/world/port.ts'

// What the control routes of an emulator give, under the names that commands have for it. Times are ISO strings of world time.

export type ClockJson = ShownClock
export type CountsJson = Counts
export type DeliveryJson = ShownDelivery
export type TriggeredJson = ShownTriggered
export type AttemptJson = ShownReport
export type TriggerBody = TriggerOrder
export type FaultJson = StoredRule
export type ReplayBody = ReplayRequest
export type EventJson = WorldEvent

/** Which deliveries are listed. */
export interface DeliveriesQuery {
  readonly type?: string
  readonly endpoint?: string
  /** Those older than this one. */
  readonly after?: string
  readonly limit: number
}
