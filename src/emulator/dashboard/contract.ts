// What the emulator answers below /_emulator, under the names that the dashboard has for it. Times are ISO strings of world time.

export type { ShownAccount as Account, ShownKey as ApiKey } from '../control/account-routes.ts'
export type { ShownAlert as Alert, ShownWebhook as Webhook } from '../control/endpoint-routes.ts'
export type {
  ShownAttempt as Attempt,
  ShownDelivery as Delivery,
  ShownDetail as DeliveryDetail,
  ShownReport as AttemptNews,
} from '../control/delivery-routes.ts'
export type { ShownWorld as World } from '../control/routes.ts'
export type { ShownSession as Session } from '../control/session-routes.ts'
export type { ShownClock as WorldClock } from '../control/shown.ts'
export type { Counts as DeliveryCounts, DeliveryState } from '../deliveries/port.ts'
export type { ClockMode } from '../world-clock.ts'
export type { Thresholds, WorldEvent } from '../world/port.ts'
