import { deserialize } from 'node:v8'
import type { AlertType } from '../../schema/rest/alert.ts'
import {
  WorldRefusal,
  type Ref,
  type WorldCommand,
  type WorldEvent,
  type WorldOptions,
} from '../../src/emulator/world/port.ts'
import { expect } from 'vitest'
import type { WorldState } from '../../src/emulator/world/state.ts'
import { TradeLog } from '../../src/emulator/world/trade-log.ts'
import { createWorld, type World } from '../../src/emulator/world/world.ts'

export const startAt = Date.UTC(2026, 0, 1)
export const minuteMs = 60_000
export const hourMs = 3_600_000
export const dayMs = 86_400_000

export function openWorld(seed: string, options: Partial<WorldOptions> = {}): World {
  return createWorld({ seed, startAt, ...options })
}

/** Events from now on. */
export function collectEvents(world: World): WorldEvent[] {
  const events: WorldEvent[] = []
  world.onEvent((event) => events.push(event))
  return events
}

/** Event types, with the undocumented one. */
export type EventName = WorldEvent['event']['type']
export type DataOf<T extends EventName> = Extract<WorldEvent['event'], { readonly type: T }>['data']

/** The data of all events of a type. */
export function dataOf<T extends EventName>(events: readonly WorldEvent[], type: T): readonly DataOf<T>[] {
  return events.flatMap(({ event }) => (event.type === type ? [event.data as DataOf<T>] : []))
}

/** Adds two alerts per token: for a rise and for a fall of the price by `percent`. */
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
      world.commands.apply({ kind: 'add-alert', alertId, type, ...place, threshold: price * factor })
    }
  }
}

/** Adds alerts on the volume of each token, on its trades by whales, and on the trades of each wallet. */
export function setOtherAlerts(world: World): void {
  const { views } = world
  const places = [
    ...views
      .tokens()
      .flatMap((token) => [
        [token, 'volume_spike', 100] as const,
        [token, 'whale_buy', 5000] as const,
        [token, 'whale_sell', 5000] as const,
      ]),
    ...views
      .wallets()
      .flatMap((wallet) => [[wallet, 'whale_buy', 5000] as const, [wallet, 'whale_sell', 5000] as const]),
  ]
  for (const [{ network, address }, type, threshold] of places) {
    const alertId = `alrt_${type}_${network}_${address}`
    world.commands.apply({ kind: 'add-alert', alertId, type, network, address, threshold })
  }
}

export function asOfNow(world: World): { at: number; seq: number } {
  return { at: world.now(), seq: world.seq() }
}

/** Wallets that have traded. */
export function activeWallets(world: World): readonly Ref[] {
  return world.views.wallets().filter(({ tradeCount }) => tradeCount > 0)
}

/** All items of a list as of now. */
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

export type WorldLedger = ReturnType<typeof readLedger>

/** State and trades of a world, read from its snapshot. */
export function readLedger(world: World) {
  const { state, trades } = world.snapshot()
  const log = new TradeLog()
  log.load(trades)
  return { state: deserialize(state) as WorldState, log }
}

/** Wallets that are unknown until they trade. */
export const newWallet = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
export const otherWallet = '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359'

/** A world without spontaneous trades, two of its tokens, and shorthands for commands on Ethereum. */
export function quietWorld(seed: string, options: Partial<WorldOptions> = {}) {
  const world = openWorld(seed, { activity: 0, ...options })
  const network = 'ethereum' as const
  const [first = '', second = ''] = world.views
    .tokens()
    .flatMap((one) => (one.network === network ? [one.address] : []))
  const act = (given: WorldCommand) => world.commands.apply(given)
  return {
    world,
    events: collectEvents(world),
    network,
    first,
    second,
    act,
    buy: (usd: number, { wallet = newWallet, token = first } = {}) =>
      act({ kind: 'trade', side: 'buy', network, wallet, token, usd }),
    sell: (fraction = 1, { wallet = newWallet, token = first } = {}) =>
      act({ kind: 'trade', side: 'sell', network, wallet, token, fraction }),
    swap: () => act({ kind: 'swap', network, wallet: newWallet, from: first, to: second }),
    move: (percent: number) => act({ kind: 'price-move', network, token: first, percent }),
    track: (wallet = newWallet, isTracked = true) => act({ kind: 'track', network, wallet, isTracked }),
    alert: (alertId: string, type: AlertType, address: string, threshold: number, isOneShot = false) =>
      act({ kind: 'add-alert', alertId, type, network, address, threshold, isOneShot }),
    wait: (minutes: number) => world.advanceTo(world.now() + minutes * minuteMs),
    refOf: (wallet = newWallet) => world.views.findWallet(network, wallet)!,
  }
}

/** The message of a refused command. Expects that nothing has changed. */
export function refusalOf(world: World, act: WorldCommand): string {
  const before = { digest: world.digest(), seq: world.seq(), nextAt: world.nextAt() }
  try {
    world.commands.apply(act)
  } catch (error) {
    expect(error).toBeInstanceOf(WorldRefusal)
    expect({ digest: world.digest(), seq: world.seq(), nextAt: world.nextAt() }).toEqual(before)
    return (error as Error).message
  }
  return 'not refused'
}
