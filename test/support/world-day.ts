import { eventTypes, type NetworkId } from '../../schema/index.ts'
import type { Token, Trade, Ref, WorldEvent, WorldSnapshot } from '../../src/emulator/world/port.ts'
import type { World } from '../../src/emulator/world/world.ts'
import {
  asOfNow,
  dayMs,
  openWorld,
  readAll,
  setOtherAlerts,
  setPriceAlerts,
  startAt,
  type DataOf,
  type EventName,
} from './world.ts'

type Pairs = readonly (readonly [reported: unknown, read: unknown])[]

function walletOf({ views }: World, data: { readonly network: string; readonly wallet_address: string }): Ref {
  return views.findWallet(data.network as NetworkId, data.wallet_address)!
}

function tokenOf({ views }: World, network: string, address: string): Token {
  return views.token(views.findToken(network as NetworkId, address)!)
}

function newestTrade(world: World, wallet: Ref): Trade | undefined {
  return world.views.trades(wallet, { limit: 1, after: null, asOf: asOfNow(world) }, null).items[0]
}

/** Values of an event and of the views at the moment it arises, in pairs that must be equal. */
const readings: { readonly [T in EventName]: (world: World, data: DataOf<T>, createdAt: string) => Pairs } = {
  'token.price_alert'(world, data) {
    const token = tokenOf(world, data.network, data.token_address)
    return [
      [data.current_price_usd, token.price_usd],
      [data.change_pct_24h, token.change_pct_24h],
    ]
  },
  'token.volume_spike'(world, data) {
    const token = tokenOf(world, data.network, data.token_address)
    return [[data.volume_1h_usd <= token.volume_24h_usd, true]]
  },
  'token.new_listing'(world, data, createdAt) {
    const token = tokenOf(world, data.network, data.token_address)
    const hasGraduated = token.address.endsWith('pump')
    const delayMs = Date.parse(createdAt) - Date.parse(token.created_at)
    return [
      // A graduated token is older than its pool (R94, A66).
      [delayMs >= 1000 && (hasGraduated || delayMs <= 5000), true],
      [data.initial_liquidity_usd > 0, true],
    ]
  },
  'token.risk_change'(world, data) {
    return [[data.current_risk_score, tokenOf(world, data.network, data.token_address).risk_score]]
  },
  'wallet.large_trade'(world, data, createdAt) {
    const trade = newestTrade(world, walletOf(world, data))
    const isSale = data.trade_type === 'sell'
    return [
      [data.tx_hash, trade?.tx_hash],
      [createdAt, trade?.timestamp],
      [data.trade_type, trade?.type],
      [data.token_address, isSale ? trade?.token_in.address : trade?.token_out.address],
      [data.amount_usd, isSale ? trade?.token_out.value_usd : trade?.token_in.value_usd],
    ]
  },
  'wallet.new_position'(world, data, createdAt) {
    const wallet = walletOf(world, data)
    const trade = newestTrade(world, wallet)
    const positions = readAll(world, (page) => world.views.portfolio(wallet, page))
    const position = positions.find(({ token_address }) => token_address === data.token_address)
    const paid = data.entry_price_usd * (trade?.token_out.amount ?? 0)
    return [
      [data.tx_hash, trade?.tx_hash],
      [createdAt, trade?.timestamp],
      [data.amount_usd, position?.cost_basis_usd],
      [trade?.token_out.amount, position?.balance],
      [Math.abs(paid - data.amount_usd) <= 0.01, true],
    ]
  },
  'wallet.pnl_milestone'(world, data) {
    const { pnl } = world.views.pnl(walletOf(world, data), 'all')
    return [
      [data.realized_pnl_usd, pnl.realized_usd],
      [data.roi_pct, pnl.roi_pct],
    ]
  },
  'contract.honeypot_detected'(world, data) {
    const token = tokenOf(world, data.network, data.contract_address)
    return [
      [data.risk_score, token.risk_score],
      [data.liquidity_usd, token.liquidity_usd],
      [data.holder_count, token.holder_count],
    ]
  },
  'contract.liquidity_removed'(world, data) {
    return [[data.remaining_liquidity_usd, tokenOf(world, data.network, data.contract_address).liquidity_usd]]
  },
  'contract.ownership_changed'(world, data) {
    return [[data.symbol, tokenOf(world, data.network, data.contract_address).symbol]]
  },
  'pump.graduation'(world, data) {
    const token = tokenOf(world, 'solana', data.token_address)
    return [[`${data.symbol} ${data.name}`, `${token.symbol} ${token.name}`]]
  },
}

interface Day {
  readonly world: World
  /** Events of the day, before triggers. */
  readonly untriggered: number
  readonly events: readonly WorldEvent[]
  /** Values of events that differed from the views when the event arose. */
  readonly wrong: readonly string[]
}

const days = new Map<string, Day & { readonly snapshot: WorldSnapshot }>()

/**
 * A world with alerts of every kind after a day, in which each type was triggered once at the end. Simulated once per
 * seed and process, and restored for each caller.
 */
export function liveDay(seed: string): Day {
  const known = days.get(seed)
  if (known !== undefined) {
    known.world.restore(known.snapshot)
    return known
  }
  const world = openWorld(seed)
  setPriceAlerts(world, 2)
  setOtherAlerts(world)
  const events: WorldEvent[] = []
  const wrong: string[] = []
  const stop = world.onEvent((arisen) => {
    events.push(arisen)
    const { type, id, data, created_at } = arisen.event
    const read = readings[type] as (world: World, data: object, createdAt: string) => Pairs
    for (const [reported, viewed] of read(world, data, created_at)) {
      if (reported !== viewed) wrong.push(`${type} ${id}: event ${String(reported)}, view ${String(viewed)}`)
    }
  })
  world.advanceTo(startAt + dayMs)
  const untriggered = events.length
  for (const type of eventTypes) {
    world.commands.apply({ kind: 'trigger', type })
    world.advanceTo(world.now() + 10_000)
  }
  stop()
  const day = { world, events, wrong, untriggered, snapshot: world.snapshot() }
  days.set(seed, day)
  return day
}
