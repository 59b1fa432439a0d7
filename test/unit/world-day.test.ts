import { isAddress as isSolanaAddress, isSignature } from '@solana/kit'
import { getAddress, isAddress, isHash } from 'viem'
import { beforeAll, describe, expect, it } from 'vitest'
import { eventTypes, networkIds, type NetworkId } from '../../schema/index.ts'
import { parseAddress } from '../../src/emulator/world/addresses.ts'
import type { TokenRef, Trade, WalletRef, WorldEvent } from '../../src/emulator/world/port.ts'
import type { World } from '../../src/emulator/world/world.ts'
import type { LogKind } from '../../src/emulator/world/state.ts'
import { legOf } from '../../src/emulator/world/trade-log.ts'
import { worldCounts, worldSeeds } from '../counts.ts'
import { liveDay, walletOf } from '../support/world-day.ts'
import {
  activeWallets,
  collectEvents,
  dataOf,
  minuteMs,
  openWorld,
  readAll,
  readLedger,
  type DataOf,
  type EventName,
} from '../support/world.ts'

/** Log entries that may cause an event. */
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

function expectEachCaused(world: World, events: readonly WorldEvent[]): void {
  const { state, log } = readLedger(world)
  const all = new Map<number, { readonly kind: LogKind | 'trade'; readonly at: number }>()
  for (const row of log.portions().flat()) {
    const [seq = 0, at = 0] = row.split(',', 2).map(Number)
    all.set(seq, { kind: 'trade', at })
  }
  // Transfers are rows of trades as well.
  for (const { seq, at, kind } of state.log) all.set(seq, { kind, at })
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

/** Text members of `value`, at any depth, whose names match. */
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

describe.each(worldSeeds(worldCounts.dayLongWorlds))(`a day (seed %s of ${worldCounts.dayLongWorlds})`, (seed) => {
  let world: World
  let events: readonly WorldEvent[]
  let shown: readonly (readonly [object, NetworkId])[]

  beforeAll(() => {
    ;({ world, events } = liveDay(seed))
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
  }, 120_000)

  it('R78 has events of all types without triggers, each from its cause, in order', () => {
    const types = events.slice(0, liveDay(seed).untriggered).map(({ event }) => event.type)
    expect(new Set(types)).toEqual(new Set([...eventTypes, 'token.volume_spike']))
    expectEachCaused(world, events)
    expectIdsInOrder(events)
    expect(world.eventsAfter(0, Infinity)).toEqual(events)
    expect(world.eventsAfter(5, 7)).toEqual(events.slice(5, 12))
    expect(world.eventsAfter(events.length - 1, 10)).toEqual(events.slice(-1))
    expect(world.eventsAfter(events.length, 10)).toEqual([])
  })

  it('R94 R97 R105 A66 has events that agree with the views when they arise', () => {
    expect(liveDay(seed).wrong.slice(0, 10)).toEqual([])
  })

  it('A17 no alert on a price or volume fires twice within five minutes', () => {
    const onValues = events.filter(({ audience }) => audience === 'owners')
    const waits = [...Map.groupBy(onValues, ({ alertIds }) => alertIds.join()).values()].flatMap((fired) =>
      fired.slice(1).map(({ event }, n) => Date.parse(event.created_at) - Date.parse(fired[n]!.event.created_at)),
    )
    expect(waits.length).toBeGreaterThan(10)
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(5 * minuteMs)
  })

  it('R105 names transactions that the trades of their wallets contain, also by token', () => {
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

  it('A9 every address in events and views is valid for viem or kit', () => {
    const addresses = distinct(shown.flatMap(([item, network]) => membersOf(item, network, isAddressMember)))
    expect(addresses.length).toBeGreaterThan(300)
    expect(new Set(addresses.map(({ network }) => network))).toEqual(new Set(networkIds))
    expect(addresses.filter((address) => !isValidAddress(address))).toEqual([])
  })

  it('A10 every hash in events and views is valid for viem or kit, and no two transactions share one', () => {
    const hashes = distinct(shown.flatMap(([item, network]) => membersOf(item, network, isHashMember)))
    expect(hashes.length).toBeGreaterThan(5_000)
    expect(hashes.filter((hash) => !isValidHash(hash))).toEqual([])
    const ofTrades = activeWallets(world).flatMap((wallet) =>
      readAll(world, (page) => world.views.trades(wallet, page, null)).map(({ tx_hash }) => tx_hash),
    )
    expect(new Set(ofTrades).size).toBe(ofTrades.length)
  })

  it('A11 finds every token, and every wallet that traded, holds a token or is named by an event', () => {
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

  it('R94 lists every later pool once, and none of the initial world', () => {
    const listed = dataOf(events, 'token.new_listing').map(
      ({ network, token_address }) => `${network}:${token_address}`,
    )
    const { state } = readLedger(world)
    const opened = state.openedMarkets.flatMap((index) => {
      const token = state.tokens[index]
      const isTold = token !== undefined && !token.isEstablished && (token.opening?.seq ?? 0) > 0
      return isTold ? [`${token.network}:${token.address}`] : []
    })
    expect(listed.toSorted()).toEqual(opened.toSorted())
    expect(opened.length).toBeGreaterThan(20)
  })

  it('R27 has a wallet with unrealized < 0 < total', () => {
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

  it('R95 A36 every score change exceeds the sensitivity, starts from the last one, and has the level of its score', () => {
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

  it('R101 every previous owner is the last new one', () => {
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

  it('R99 nobody sells a honeypot, and its holders increase', () => {
    const { log, state } = readLedger(world)
    const found = events.filter(({ event }) => event.type === 'contract.honeypot_detected')
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
})

function levelOf(score: number): string {
  return score < 25 ? 'low' : score < 50 ? 'medium' : score < 75 ? 'high' : 'critical'
}

it('A40 event ids sort by time, and within a millisecond by number', () => {
  const world = openWorld('sorted')
  const events = collectEvents(world)
  for (let round = 1; round <= 40; round++)
    world.commands.apply({ kind: 'trigger', type: 'contract.ownership_changed' })
  world.advanceTo(world.now() + 1)
  for (let round = 1; round <= 40; round++)
    world.commands.apply({ kind: 'trigger', type: 'contract.ownership_changed' })
  expect(events).toHaveLength(80)
  expectIdsInOrder(events)
})
