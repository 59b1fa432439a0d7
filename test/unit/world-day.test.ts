import { beforeAll, describe, expect, it } from 'vitest'
import { eventTypes } from '../../schema/index.ts'
import { parseAddress } from '../../src/emulator/world/addresses.ts'
import type { WorldEvent } from '../../src/emulator/world/port.ts'
import type { World } from '../../src/emulator/world/world.ts'
import { worldCounts, worldSeeds } from '../counts.ts'
import { liveDay } from '../support/world-day.ts'
import { dataOf, readLedger } from '../support/world.ts'

function expectIdsInOrder(events: readonly WorldEvent[]): void {
  const ids = events.map(({ event }) => event.id)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.toSorted()).toEqual(ids)
  expect(ids.filter((id) => !/^evt_[0-9A-HJKMNP-TV-Z]{26}$/.test(id))).toEqual([])
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1))
  const times = events.map(({ event }) => event.created_at)
  expect(times.toSorted()).toEqual(times)
}

describe.each(worldSeeds(worldCounts.dayLongWorlds))(`a day (seed %s of ${worldCounts.dayLongWorlds})`, (seed) => {
  let world: World
  let events: readonly WorldEvent[]

  beforeAll(() => void ({ world, events } = liveDay(seed)), 120_000)

  it('R78 A40 has events of all types without triggers, in order', () => {
    const types = events.slice(0, liveDay(seed).untriggered).map(({ event }) => event.type)
    expect(new Set(types)).toEqual(new Set([...eventTypes, 'token.volume_spike']))
    expectIdsInOrder(events)
    expect(world.eventsAfter(0, Infinity)).toEqual(events)
    expect(world.eventsAfter(5, 7)).toEqual(events.slice(5, 12))
    expect(world.eventsAfter(events.length - 1, 10)).toEqual(events.slice(-1))
    expect(world.eventsAfter(events.length, 10)).toEqual([])
  })

  it('R94 R97 R105 A66 has events that agree with the views when they arise', () => {
    expect(liveDay(seed).wrong.slice(0, 10)).toEqual([])
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
})

function levelOf(score: number): string {
  return score < 25 ? 'low' : score < 50 ? 'medium' : score < 75 ? 'high' : 'critical'
}
