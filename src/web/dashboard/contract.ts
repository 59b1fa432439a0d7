// What the emulator answers below /_emulator, under the names that the dashboard has for it. Times are ISO strings of world time.

export type { ShownAccount as Account, ShownKey as ApiKey } from '../../emulator/control/account-routes.ts'
export type { ShownAlert as Alert, ShownWebhook as Webhook } from '../../emulator/control/endpoint-routes.ts'
export type {
  ShownAttempt as Attempt,
  ShownDelivery as Delivery,
  ShownDetail as DeliveryDetail,
  ShownReport as AttemptNews,
} from '../../emulator/control/delivery-routes.ts'
export type { ShownWorld as World } from '../../emulator/control/routes.ts'
export type { ShownSession as Session } from '../../emulator/control/session-routes.ts'
export type { ShownClock as WorldClock } from '../../emulator/control/shown.ts'
export type { Counts as DeliveryCounts, DeliveryState } from '../../emulator/deliveries/port.ts'
export type { ClockMode } from '../../emulator/world-clock.ts'
export type { Thresholds, WorldEvent } from '../../emulator/world/port.ts'
