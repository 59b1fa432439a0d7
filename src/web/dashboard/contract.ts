// What the emulator answers below /_emulator, under the names that the dashboard has for it. Times are ISO strings of world time.

export type { ShownAccount as Account, ShownKey as ApiKey } from '../../emulator/control/accounts.ts'
export type { ShownAlert as Alert, ShownWebhook as Webhook } from '../../emulator/control/accounts.ts'
export type {
  ShownAttempt as Attempt,
  ShownDelivery as Delivery,
  ShownDetail as DeliveryDetail,
  ShownReport as AttemptNews,
} from '../../emulator/control/deliveries.ts'
export type { ShownWorld as World } from '../../emulator/control/world.ts'
export type { ShownSession as Session } from '../../emulator/control/session.ts'
export type { ShownClock as WorldClock } from '../../emulator/control/clock.ts'
export type { Counts as DeliveryCounts, DeliveryState } from '../../emulator/deliveries/port.ts'
export type { ClockMode } from '../../emulator/world-clock.ts'
export type { Thresholds, WorldEvent } from '../../emulator/world/port.ts'
