import { deserialize } from 'node:v8'
import type { WalletRef, World, WorldEvent, WorldOptions } from '../../src/emulator/world/port.ts'
import type { WorldState } from '../../src/emulator/world/state.ts'
import { TradeLog } from '../../src/emulator/world/trade-log.ts'
import { createWorld } from '../../src/emulator/world/world.ts'

export const startAt = Date.UTC(2026, 0, 1)
export const minuteMs = 60_000
export const hourMs = 3_600_000
export const dayMs = 86_400_000

export function openWorld(seed: string, options: Partial<WorldOptions> = {}): World {
  return createWorld({ seed, startAt, ...options })
}

/** Everything that arises from now on. */
export function collectEvents(world: World): WorldEvent[] {
  const events: WorldEvent[] = []
  world.onEvent((event) => events.push(event))
  return events
}

/** Types of events, the undocumented one included. */
export type EventName = WorldEvent['event']['type']
export type DataOf<T extends EventName> = Extract<WorldEvent['event'], { readonly type: T }>['data']

/** The data of all events of a type. */
export function dataOf<T extends EventName>(events: readonly WorldEvent[], type: T): readonly DataOf<T>[] {
  return events.flatMap(({ event }) => (event.type === type ? [event.data as DataOf<T>] : []))
}

/** Two alerts on each token that there is: when its price has risen or fallen by so much. */
export function setPriceAlerts(world: World, percent = 5): void {
  for (const ref of world.views.tokens()) {
    const { network, address } = ref
    const price = world.views.token(ref).price_usd
    const place = { network, address }
    for (const [type, factor] of [
      ['price_above', 1 + percent / 100] as const,
      ['price_below', 1 - percent / 100] as const,
    ]) {
      const alertId = `alrt_${type}_${ref.index}`
      world.acts.apply({ kind: 'add-alert', alertId, type, ...place, threshold: price * factor })
    }
  }
}

/** Alerts on the volume of each token that there is, on trades of it by whales, and on trades of each wallet. */
export function setOtherAlerts(world: World, percent = 100, usd = 5000): void {
  const { views } = world
  const places = [
    ...views
      .tokens()
      .flatMap((token) => [
        [token, 'volume_spike', percent] as const,
        [token, 'whale_buy', usd] as const,
        [token, 'whale_sell', usd] as const,
      ]),
    ...views.wallets().flatMap((wallet) => [[wallet, 'whale_buy', usd] as const, [wallet, 'whale_sell', usd] as const]),
  ]
  for (const [{ network, address }, type, threshold] of places) {
    const alertId = `alrt_${type}_${network}_${address}`
    world.acts.apply({ kind: 'add-alert', alertId, type, network, address, threshold })
  }
}

/** The present moment, to be read again later. */
export function asOfNow(world: World): { at: number; seq: number } {
  return { at: world.now(), seq: world.seq() }
}

/** Wallets that have traded. */
export function activeWallets(world: World): readonly WalletRef[] {
  return world.views.wallets().filter(({ tradeCount }) => tradeCount > 0)
}

/** All pages of a list as of now, put together. */
export function readAll<T>(
  world: World,
  read: (page: { limit: number; after: number | null; asOf: { at: number; seq: number } }) => {
    readonly items: readonly T[]
    readonly lastKey: number | null
  },
): readonly T[] {
  const asOf = asOfNow(world)
  const items: T[] = []
  for (let after: number | null = null; ;) {
    const page = read({ limit: 100, after, asOf })
    items.push(...page.items)
    if (page.lastKey === null) return items
    after = page.lastKey
  }
}

/** What a world keeps, read from its snapshot. */
export interface WorldLedger {
  readonly state: WorldState
  readonly log: TradeLog
}

export function readLedger(world: World): WorldLedger {
  const { state, trades } = world.snapshot()
  const log = new TradeLog()
  log.load(trades)
  return { state: deserialize(state) as WorldState, log }
}
