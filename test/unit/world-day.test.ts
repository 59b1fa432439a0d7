import { isAddress as isSolanaAddress, isOffCurveAddress, isSignature, type Address } from '@solana/kit'
import { getAddress, isAddress, isHash } from 'viem'
import { beforeAll, describe, expect, it } from 'vitest'
import { eventTypes, networkIds, type NetworkId } from '../../schema/index.ts'
import { coinAddress, parseAddress } from '../../src/emulator/world/addresses.ts'
import type { Token, TokenRef, Trade, WalletRef, World, WorldEvent } from '../../src/emulator/world/port.ts'
import type { LogKind } from '../../src/emulator/world/state.ts'
import { legOf } from '../../src/emulator/world/trade-log.ts'
import { worldCounts, worldSeeds } from '../counts.ts'
import {
  activeWallets,
  asOfNow,
  collectEvents,
  dataOf,
  dayMs,
  openWorld,
  readAll,
  readLedger,
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

/** What an event of a type may be caused by. */
const causes: Readonly<Record<EventName, readonly (LogKind | 'trade')[]>> = {
  'token.price_alert': ['trade', 'price-seen'],
  'token.volume_spike': ['trade', 'volume-seen'],
  'token.new_listing': ['pool-created', 'graduated'],
  'token.risk_change': ['audited'],
  'wallet.large_trade': ['trade'],
  'wallet.new_position': ['trade'],
  'wallet.pnl_milestone': ['trade'],
  'contract.honeypot_detected': ['audited'],
  'contract.liquidity_removed': ['liquidity-removed'],
  'contract.ownership_changed': ['owner-transferred'],
  'pump.graduation': ['graduated'],
}

interface Cause {
  readonly kind: LogKind | 'trade'
  readonly at: number
}

/** Every entry of the log by its number. */
function causesOf(world: World): ReadonlyMap<number, Cause> {
  const { state, log } = readLedger(world)
  const all = new Map<number, Cause>()
  for (const row of log.portions().flat()) {
    const [seq, at] = row.split(',', 2).map(Number)
    all.set(seq!, { kind: 'trade', at: at! })
  }
  // Transfers are trades of the log as well.
  for (const { seq, at, kind } of state.log) all.set(seq, { kind, at })
  return all
}

function expectEachCaused(world: World, events: readonly WorldEvent[]): void {
  const all = causesOf(world)
  expect(all.size).toBe(world.seq())
  for (const { event, cause } of events) {
    const found = all.get(cause)
    expect(causes[event.type], `${event.type} ${event.id}`).toContain(found?.kind)
    expect(found?.at).toBeLessThanOrEqual(Date.parse(event.created_at))
  }
}

function expectIdsInOrder(events: readonly WorldEvent[]): void {
  const ids = events.map(({ event }) => event.id)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.toSorted()).toEqual(ids)
  expect(ids.filter((id) => !/^evt_[0-9A-HJKMNP-TV-Z]{26}$/.test(id))).toEqual([])
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
  const times = events.map(({ event }) => event.created_at)
  expect(times.toSorted()).toEqual(times)
}

const isAddressMember = /(^|_)(address|wallet|owner|pool)$/
const isHashMember = /(^|_)tx(_hash)?$/

interface Shown {
  readonly network: NetworkId
  readonly value: string
}

/** Strings below `value` whose member's name says that they are addresses, or hashes. */
function membersOf(value: object, network: NetworkId, names: RegExp): readonly Shown[] {
  return Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
    if (typeof member === 'object' && member !== null) return membersOf(member, network, names)
    return names.test(name) && typeof member === 'string' ? [{ network, value: member }] : []
  })
}

function distinct(shown: readonly Shown[]): readonly Shown[] {
  return [...new Map(shown.map((one) => [`${one.network}:${one.value}`, one])).values()]
}

function isValidAddress({ network, value }: Shown): boolean {
  return network === 'solana' ? isSolanaAddress(value) : isAddress(value) && getAddress(value) === value
}

function isValidHash({ network, value }: Shown): boolean {
  if (network === 'solana') return isSignature(value) && value.length >= 87
  return isHash(value) && value === value.toLowerCase()
}

/** A day of a world with alerts of every kind. After it, each type is triggered once. */
describe.each(worldSeeds(worldCounts.dayLongWorlds))(
  `a day of a world (seed %s of ${worldCounts.dayLongWorlds})`,
  { timeout: 120_000 },
  (seed) => {
    let world: World
    const events: WorldEvent[] = []
    const wrong: string[] = []
    let shown: readonly (readonly [object, NetworkId])[]

    beforeAll(() => {
      world = openWorld(seed)
      setPriceAlerts(world)
      setOtherAlerts(world)
      world.onEvent((event) => {
        events.push(event)
        for (const [told, read] of readingsOf(world, event)) {
          if (told === read) continue
          wrong.push(`${event.event.type} ${event.event.id}: told ${String(told)}, read ${String(read)}`)
        }
      })
      world.advanceTo(startAt + dayMs)
      expect(new Set(events.map(({ event }) => event.type)), 'without triggers').toEqual(
        new Set([...eventTypes, 'token.volume_spike']),
      )
      for (const type of eventTypes) {
        world.acts.apply({ kind: 'trigger', type })
        world.advanceTo(world.now() + 10_000)
      }
      const { views } = world
      const ofWallets = activeWallets(world).flatMap((wallet) => {
        const { network } = wallet
        const trades = readAll(world, (page) => views.trades(wallet, page, null))
        const positions = readAll(world, (page) => views.portfolio(wallet, page))
        const rest = [wallet, views.overview(wallet), views.pnl(wallet, 'all')]
        return [...trades, ...positions, ...rest].map((item) => [item, network] as const)
      })
      const ofTokens = views.tokens().map((token) => [views.token(token), token.network] as const)
      const ofEvents = events.map(({ event: { data } }) => [data, 'network' in data ? data.network : 'solana'] as const)
      shown = [...ofWallets, ...ofTokens, ...(ofEvents as (readonly [object, NetworkId])[])]
    })

    const of = (type: string) => events.filter(({ event }) => event.type === type)

    it('R78 has events of all ten types, each from its cause, in order', () => {
      expectEachCaused(world, events)
      expectIdsInOrder(events)
      expect(world.eventsAfter(0, Infinity)).toEqual(events)
      expect(world.eventsAfter(5, 7)).toEqual(events.slice(5, 12))
      expect(world.eventsAfter(events.length - 1, 10)).toEqual(events.slice(-1))
      expect(world.eventsAfter(events.length, 10)).toEqual([])
    })

    it('R94 R97 R105 A66 has events that agree with REST in numbers and times when they arise', () => {
      expect(wrong.slice(0, 10)).toEqual([])
    })

    it('R105 names transactions that are found in the trades of their wallets, also by token', () => {
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

    it('A9 every address that events and answers show is valid for viem or kit', () => {
      const addresses = distinct(shown.flatMap(([item, network]) => membersOf(item, network, isAddressMember)))
      expect(addresses.length).toBeGreaterThan(300)
      expect(new Set(addresses.map(({ network }) => network))).toEqual(new Set(networkIds))
      expect(addresses.filter((address) => !isValidAddress(address))).toEqual([])
    })

    it('A10 every hash that events and answers show is valid for viem or kit', () => {
      const hashes = distinct(shown.flatMap(([item, network]) => membersOf(item, network, isHashMember)))
      expect(hashes.length).toBeGreaterThan(5_000)
      expect(hashes.filter((hash) => !isValidHash(hash))).toEqual([])
    })

    it('A10 no two transactions share a hash', () => {
      const hashes = activeWallets(world).flatMap((wallet) =>
        readAll(world, (page) => world.views.trades(wallet, page, null)).map(({ tx_hash }) => tx_hash),
      )
      expect(new Set(hashes).size).toBe(hashes.length)
    })

    it('A9 pools on Solana belong to programs, wallets and mints to keys', () => {
      const onSolana = dataOf(events, 'token.new_listing').filter(({ network }) => network === 'solana')
      const pools = [
        ...onSolana.map((data) => data.pool_address),
        ...dataOf(events, 'pump.graduation').map((data) => data.raydium_pool),
      ]
      const keys = [...world.views.wallets(), ...world.views.tokens()].filter(({ network }) => network === 'solana')
      expect(pools.length).toBeGreaterThan(10)
      expect(pools.filter((pool) => !isOffCurveAddress(pool as Address))).toEqual([])
      expect(keys.filter(({ address }) => isOffCurveAddress(address as Address))).toEqual([])
    })

    it('A9 no two of wallets, tokens and pools share an address', () => {
      const { views } = world
      const pools = dataOf(events, 'token.new_listing').map(({ network, pool_address }) => `${network}:${pool_address}`)
      const rest = [...views.wallets(), ...views.tokens()].map(({ network, address }) => `${network}:${address}`)
      const coins = networkIds.map((network) => `${network}:${coinAddress(network)}`)
      const all = [...pools, ...rest, ...coins]
      expect(new Set(all).size).toBe(all.length)
    })

    it('A11 finds by its address every token and every wallet that traded, holds something or is named, and no other', () => {
      const { views } = world
      const owners = dataOf(events, 'contract.ownership_changed')
      const named = new Set(owners.flatMap(({ previous_owner, new_owner }) => [previous_owner, new_owner]))
      const { state } = readLedger(world)
      for (const { network, address, index, tradeCount } of views.wallets()) {
        const parsed = parseAddress(network, address, { strictChecksum: true })
        expect(parsed).toEqual({ ok: true, address })
        const isKnown = tradeCount > 0 || (state.wallets[index]?.open.size ?? 0) > 0 || named.has(address)
        expect(views.findWallet(network, address)?.index).toBe(isKnown ? index : undefined)
        expect(views.findToken(network, address)).toBeNull()
      }
      for (const token of views.tokens()) expect(views.findToken(token.network, token.address)).toEqual(token)
      expect(views.wallets().some(({ tradeCount }) => tradeCount === 0)).toBe(true)
    })

    it('R94 every later pool is listed once, and none of the initial world', () => {
      const told = dataOf(events, 'token.new_listing').map(
        ({ network, token_address }) => `${network}:${token_address}`,
      )
      const { state } = readLedger(world)
      const opened = state.openedMarkets.flatMap((index) => {
        const token = state.tokens[index]
        const isTold = token !== undefined && !token.isEstablished && (token.opening?.seq ?? 0) > 0
        return isTold ? [`${token.network}:${token.address}`] : []
      })
      expect(told.toSorted()).toEqual(opened.toSorted())
      expect(opened.length).toBeGreaterThan(20)
    })

    it('R27 shows a wallet with unrealized < 0 < total, also when nobody triggers that story', () => {
      const pnl = activeWallets(world).map((ref) => world.views.pnl(ref, 'all').pnl)
      expect(pnl.some(({ unrealized_usd, total_usd }) => unrealized_usd < 0 && total_usd > 0)).toBe(true)
    })

    it('R102 A68 every graduation is followed by the listing of its Raydium pool', () => {
      const graduations = events.filter(({ event }) => event.type === 'pump.graduation')
      expect(graduations.length).toBeGreaterThan(5)
      for (const { seq, cause, event } of graduations) {
        const listing = events.find((other) => other.event.type === 'token.new_listing' && other.cause === cause)
        expect(listing?.seq).toBeGreaterThan(seq)
        expect(listing?.event.data).toMatchObject({
          network: 'solana',
          token_address: (event.data as { token_address: string }).token_address,
          pool_address: (event.data as { raydium_pool: string }).raydium_pool,
          dex: 'Raydium',
        })
      }
    })

    it('R95 A36 every change of a score was larger than the sensitivity, and its level follows from it', () => {
      const changes = dataOf(events, 'token.risk_change')
      expect(changes.length).toBeGreaterThan(5)
      for (const data of changes) {
        expect(Math.abs(data.current_risk_score - data.previous_risk_score)).toBeGreaterThan(10)
        expect(data.risk_level).toBe(levelOf(data.current_risk_score))
        expect(data.ai_summary).toContain(data.symbol)
        for (const check of data.triggered_checks) expect(data.ai_summary).toContain(check)
      }
      const scores = new Map<string, number>()
      for (const { network, token_address, previous_risk_score, current_risk_score } of changes) {
        const place = `${network}:${token_address}`
        expect(scores.get(place) ?? previous_risk_score).toBe(previous_risk_score)
        scores.set(place, current_risk_score)
      }
    })

    it('R101 every owner that was replaced was the one before', () => {
      const owners = new Map<string, string>()
      const changes = dataOf(events, 'contract.ownership_changed')
      expect(changes.length).toBeGreaterThan(3)
      for (const { network, contract_address, previous_owner, new_owner } of changes) {
        const place = `${network}:${contract_address}`
        expect(owners.get(place) ?? previous_owner).toBe(previous_owner)
        expect(new_owner).not.toBe(previous_owner)
        owners.set(place, new_owner)
      }
    })

    it('R99 of a honeypot nothing is sold any more, and more and more people hold it', () => {
      const { log, state } = readLedger(world)
      const found = of('contract.honeypot_detected')
      expect(found.length).toBeGreaterThan(2)
      const grown = found.map(({ event, cause }) => {
        const { contract_address: address, holder_count } = event.data as {
          contract_address: string
          holder_count: number
        }
        const token = state.tokens.findIndex((one) => one.address === address)
        const later = log
          .ofToken(token)
          .slice(0)
          .filter(({ seq }) => seq > cause)
        expect(later.filter((trade) => legOf(trade, token).kind === 'sale')).toEqual([])
        return world.views.token(world.views.tokens()[token]!).holder_count - holder_count
      })
      expect(Math.min(...grown)).toBeGreaterThanOrEqual(0)
      expect(Math.max(...grown)).toBeGreaterThan(0)
    })
  },
)

function levelOf(score: number): string {
  return score < 25 ? 'low' : score < 50 ? 'medium' : score < 75 ? 'high' : 'critical'
}

it('A40 ids of events sort by time, and within a millisecond by their number', () => {
  const world = openWorld('sorted')
  const events = collectEvents(world)
  for (let round = 1; round <= 40; round++) world.acts.apply({ kind: 'trigger', type: 'contract.ownership_changed' })
  world.advanceTo(world.now() + 1)
  for (let round = 1; round <= 40; round++) world.acts.apply({ kind: 'trigger', type: 'contract.ownership_changed' })
  expect(events).toHaveLength(80)
  expectIdsInOrder(events)
})
