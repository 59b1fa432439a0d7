import { beforeAll, describe, expect, it } from 'vitest'
import { eventTypes, type NetworkId } from '../../schema/index.ts'
import type { Token, TokenRef, Trade, WalletRef, World, WorldEvent } from '../../src/emulator/world/port.ts'
import { worldCounts, worldSeeds } from '../counts.ts'
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
} from '../support/world.ts'

function walletOf({ views }: World, data: { readonly network: string; readonly wallet_address: string }): WalletRef {
  return views.findWallet(data.network as NetworkId, data.wallet_address)!
}

function tokenOf({ views }: World, network: string, address: string): Token {
  return views.token(views.findToken(network as NetworkId, address)!)
}

function newestTrade(world: World, wallet: WalletRef): Trade | undefined {
  return world.views.trades(wallet, { limit: 1, after: null, asOf: asOfNow(world) }, null).items[0]
}

/** What an event says, and what can be read at the very moment at which it arises: pairs that must be equal. */
const readings: {
  readonly [T in EventName]: (
    world: World,
    data: DataOf<T>,
    createdAt: string,
  ) => readonly (readonly [unknown, unknown])[]
} = {
  'token.price_alert'(world, data) {
    const token = tokenOf(world, data.network, data.token_address)
    return [
      [data.current_price_usd, token.price_usd],
      [data.change_pct_24h, token.change_pct_24h],
      [data.symbol, token.symbol],
    ]
  },
  'token.volume_spike'(world, data) {
    const token = tokenOf(world, data.network, data.token_address)
    return [
      [data.symbol, token.symbol],
      // What was traded in an hour was traded in the day that it belongs to.
      [data.volume_1h_usd <= token.volume_24h_usd, true],
    ]
  },
  'token.new_listing'(world, data, createdAt) {
    const token = tokenOf(world, data.network, data.token_address)
    const hasGraduated = token.address.endsWith('pump')
    const delayMs = Date.parse(createdAt) - Date.parse(token.created_at)
    return [
      // R94 A66: a token that graduates is older than its pool.
      [delayMs >= 1000 && (hasGraduated || delayMs <= 5000), true],
      [data.name, token.name],
      [data.symbol, token.symbol],
      [data.initial_liquidity_usd > 0, true],
    ]
  },
  'token.risk_change'(world, data) {
    const token = tokenOf(world, data.network, data.token_address)
    return [
      [data.current_risk_score, token.risk_score],
      [data.risk_level, token.risk_level],
    ]
  },
  'wallet.large_trade'(world, data, createdAt) {
    const trade = newestTrade(world, walletOf(world, data))
    const isSale = data.trade_type === 'sell'
    return [
      [data.tx_hash, trade?.tx_hash],
      [createdAt, trade?.timestamp],
      [data.trade_type, trade?.type],
      [data.token_address, isSale ? trade?.token_in.address : trade?.token_out.address],
      [data.token_symbol, isSale ? trade?.token_in.symbol : trade?.token_out.symbol],
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
      [data.token_address, trade?.token_out.address],
      [data.amount_usd, position?.cost_basis_usd],
      [trade?.token_out.amount, position?.balance],
      [Math.abs(paid - data.amount_usd) <= 0.01, true],
      [data.amount_usd, trade?.token_in.value_usd],
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
      [data.ai_summary.includes(data.honeypot_type), true],
    ]
  },
  'contract.liquidity_removed'(world, data) {
    const token = tokenOf(world, data.network, data.contract_address)
    return [
      [data.remaining_liquidity_usd, token.liquidity_usd],
      [data.symbol, token.symbol],
    ]
  },
  'contract.ownership_changed'(world, data) {
    return [[data.symbol, tokenOf(world, data.network, data.contract_address).symbol]]
  },
  'pump.graduation'(world, data) {
    const token = tokenOf(world, 'solana', data.token_address)
    return [
      [data.name, token.name],
      [data.symbol, token.symbol],
    ]
  },
}

function readingsOf(world: World, { event }: WorldEvent): readonly (readonly [unknown, unknown])[] {
  const read = readings[event.type] as (
    world: World,
    ...event: [object, string]
  ) => readonly (readonly [unknown, unknown])[]
  return read(world, event.data, event.created_at)
}

describe.each(worldSeeds(worldCounts.agreementWorlds))('the events of a world (seed %s)', (seed) => {
  let world: World
  const wrong: string[] = []
  const seen = new Map<string, number>()
  const prices: (readonly [told: number, read: number])[] = []
  const tradeTypes = new Set<string | undefined>()

  beforeAll(() => {
    world = openWorld(seed)
    setPriceAlerts(world)
    setOtherAlerts(world)
    world.onEvent((event) => {
      seen.set(event.event.type, (seen.get(event.event.type) ?? 0) + 1)
      for (const [told, read] of readingsOf(world, event)) {
        if (told !== read)
          wrong.push(`${event.event.type} ${event.event.id}: told ${String(told)}, read ${String(read)}`)
      }
      if (event.event.type === 'wallet.new_position') {
        tradeTypes.add(newestTrade(world, walletOf(world, event.event.data))?.type)
      }
      if (event.event.type === 'token.price_alert') {
        const { current_price_usd: told, token_address, network } = event.event.data as DataOf<'token.price_alert'>
        prices.push([told, tokenOf(world, network, token_address).price_usd])
      }
    })
    world.advanceTo(startAt + dayMs)
    for (const type of eventTypes) {
      world.acts.apply({ kind: 'trigger', type })
      world.advanceTo(world.now() + 10_000)
    }
  }, 120_000)

  it('R94 R105 agree with REST in numbers and times at the moment at which they arise', () => {
    expect(wrong.slice(0, 10)).toEqual([])
    expect(new Set(seen.keys())).toEqual(new Set([...eventTypes, 'token.volume_spike']))
    expect(prices.length).toBeGreaterThan(0)
    expect(tradeTypes).toEqual(new Set(['buy', 'swap']))
  })

  it('R105 name transactions that are found in the trades of their wallets, also later and by their token', () => {
    const { views } = world
    const trades = new Map<string, readonly Trade[]>()
    const tradesOf = (wallet: WalletRef, token: TokenRef | null) => {
      const key = `${wallet.index}:${token?.index ?? ''}`
      const known = trades.get(key) ?? readAll(world, (page) => views.trades(wallet, page, token?.address ?? null))
      trades.set(key, known)
      return known
    }
    const events = world.eventsAfter(0, Infinity).flatMap(({ event }) => {
      const isTrade = event.type === 'wallet.large_trade' || event.type === 'wallet.new_position'
      return isTrade ? [event.data as DataOf<'wallet.large_trade'>] : []
    })
    const missing = events.filter((data) => {
      const wallet = walletOf(world, data)
      const token = views.findToken(wallet.network, data.token_address)
      const found = [null, token].map((filter) =>
        tradesOf(wallet, filter).filter(({ tx_hash }) => tx_hash === data.tx_hash),
      )
      return found.some((same) => same.length !== 1)
    })
    expect(events.length).toBeGreaterThan(100)
    expect(missing.slice(0, 10)).toEqual([])
  })
})
