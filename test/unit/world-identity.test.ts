import { isAddress as isSolanaAddress, isOffCurveAddress, isSignature, type Address } from '@solana/kit'
import { getAddress, isAddress, isHash } from 'viem'
import { beforeAll, describe, expect, it } from 'vitest'
import { networkIds, type NetworkId } from '../../schema/index.ts'
import { coinAddress, parseAddress } from '../../src/emulator/world/addresses.ts'
import type { World, WorldEvent } from '../../src/emulator/world/port.ts'
import {
  activeWallets,
  collectEvents,
  dataOf,
  dayMs,
  openWorld,
  readAll,
  readLedger,
  setPriceAlerts,
  startAt,
} from '../support/world.ts'

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

describe('after a day', () => {
  let world: World
  let events: readonly WorldEvent[]
  let shown: readonly (readonly [object, NetworkId])[]

  beforeAll(() => {
    world = openWorld('identity')
    events = collectEvents(world)
    setPriceAlerts(world)
    world.advanceTo(startAt + dayMs)
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

  it('A9 every address that events and answers show is valid for viem or kit', () => {
    const addresses = distinct(shown.flatMap(([item, network]) => membersOf(item, network, isAddressMember)))
    expect(addresses.length).toBeGreaterThan(300)
    expect(new Set(addresses.map(({ network }) => network))).toEqual(new Set(networkIds))
    expect(addresses.filter((address) => !isValidAddress(address))).toEqual([])
  })

  it('A10 every hash that events and answers show is valid for viem or kit', () => {
    const hashes = distinct(shown.flatMap(([item, network]) => membersOf(item, network, isHashMember)))
    expect(hashes.length).toBeGreaterThan(10_000)
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

  it('A9 what has graduated bears the mark of its launch platform, and no other token does', () => {
    const graduated = dataOf(events, 'pump.graduation').map((data) => data.token_address)
    expect(graduated.filter((mint) => !mint.endsWith('pump'))).toEqual([])
    const others = world.views.tokens().filter(({ network }) => network !== 'solana')
    expect(others.filter(({ address }) => address.endsWith('pump'))).toEqual([])
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
})
