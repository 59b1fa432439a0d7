import { beforeAll, describe, expect, it } from 'vitest'
import type { NetworkId } from '../../schema/index.ts'
import type { World, WorldEvent } from '../../src/emulator/world/port.ts'
import { legOf } from '../../src/emulator/world/trade-log.ts'
import {
  collectEvents,
  dataOf,
  dayMs,
  openWorld,
  readAll,
  readLedger,
  setPriceAlerts,
  startAt,
} from '../support/world.ts'

const timeOf = ({ event }: WorldEvent) => Date.parse(event.created_at)

describe('after a day', () => {
  let world: World
  let events: readonly WorldEvent[]

  beforeAll(() => {
    world = openWorld('rules')
    events = collectEvents(world)
    setPriceAlerts(world)
    world.advanceTo(startAt + dayMs)
  })

  const of = (type: string) => events.filter(({ event }) => event.type === type)

  it('A66 every listing was told one to five seconds after its pool', () => {
    const { state } = readLedger(world)
    const madeAt = new Map(state.log.map(({ seq, at }) => [seq, at]))
    const waits = of('token.new_listing').map((event) => timeOf(event) - (madeAt.get(event.cause) ?? 0))
    expect(waits.length).toBeGreaterThan(20)
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(1000)
    expect(Math.max(...waits)).toBeLessThanOrEqual(5000)
  })

  it('R94 every pool that came later was told once, and none of those before the world began', () => {
    const told = dataOf(events, 'token.new_listing').map(({ network, token_address }) => `${network}:${token_address}`)
    const { state } = readLedger(world)
    const opened = state.openedMarkets.flatMap((index) => {
      const token = state.tokens[index]
      const isTold = token !== undefined && !token.isEstablished && (token.opening?.seq ?? 0) > 0
      return isTold ? [`${token.network}:${token.address}`] : []
    })
    expect(told.toSorted()).toEqual(opened.toSorted())
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

  it('A35 no wallet was told of a milestone twice, and each had got there', () => {
    const milestones = dataOf(events, 'wallet.pnl_milestone')
    const keys = milestones.map((data) => `${data.network}:${data.wallet_address}:${data.milestone_usd}`)
    expect(milestones.length).toBeGreaterThan(5)
    expect(new Set(keys).size).toBe(keys.length)
    for (const { milestone_usd: line, realized_pnl_usd: realized, timeframe } of milestones) {
      expect(line > 0 ? realized >= line : realized <= line).toBe(true)
      expect(timeframe).toBe('all')
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

  it('A39 what was removed is at least a fifth of the pool, or 10,000 USD', () => {
    const removals = dataOf(events, 'contract.liquidity_removed')
    expect(removals.length).toBeGreaterThan(2)
    for (const data of removals) {
      expect(data.liquidity_removed_pct >= 20 || data.liquidity_removed_usd >= 10_000).toBe(true)
      const whole = data.liquidity_removed_usd + data.remaining_liquidity_usd
      expect(data.liquidity_removed_usd / whole).toBeCloseTo(data.liquidity_removed_pct / 100, 4)
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

  it('R97 a new position is the first trade of its wallet with its token', () => {
    const positions = dataOf(events, 'wallet.new_position')
    expect(positions.length).toBeGreaterThan(50)
    const { views } = world
    for (const { network, wallet_address, token_address, tx_hash } of positions) {
      const wallet = views.findWallet(network as NetworkId, wallet_address)!
      const trades = readAll(world, (page) => views.trades(wallet, page, token_address))
      expect(trades.at(-1)?.tx_hash).toBe(tx_hash)
    }
  })
})

function levelOf(score: number): string {
  return score < 25 ? 'low' : score < 50 ? 'medium' : score < 75 ? 'high' : 'critical'
}
