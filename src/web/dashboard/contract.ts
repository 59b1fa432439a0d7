// Responses of the control API below /_emulator. Times are ISO strings of world time.

export type { ShownAccount as Account, ShownKey as ApiKey } from '../../emulator/control/accounts.ts'
export type { ShownAlert as Alert, ShownWebhook as Webhook } from '../../emulator/control/accounts.ts'
export type {
  ShownAttempt as Attempt,
  ShownDelivery as Delivery,
  ShownDetail as DeliveryDetail,
} from '../../emulator/control/deliveries.ts'
export type { ShownWorld as World } from '../../emulator/control/world.ts'
export type { ShownSession as Session } from '../../emulator/control/session.ts'
export type { ShownClock as WorldClock } from '../../emulator/control/clock.ts'
export type { ShownTriggered as Triggered } from '../../emulator/control/trigger.ts'
export type { Counts as DeliveryCounts, DeliveryState } from '../../emulator/deliveries/delivery.ts'
export type { FaultKind } from '../../emulator/faults/kinds.ts'
export type { StoredRule as StoredFault } from '../../emulator/faults/faults.ts'
export type { WorldEvent } from '../../emulator/world/port.ts'

export interface Scenario {
  readonly name: string
  readonly about: string
}
