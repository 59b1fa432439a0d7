import { describe, expect, it, test } from 'vitest'
import type { AnyEvent } from '../../schema/index.ts'
import { route, toRouteFilter, type RouteFilter } from '../../src/config/sinks/routes.ts'
import { sourcesOf, toMatch, typesOf } from '../../src/dispatch/route-match.ts'
import { createEvent } from '../../src/app/testing/create-event.ts'

function parse(value: object): RouteFilter {
  const { to: _to, ...filter } = route.parse({ ...value, to: 'desk' })
  return toRouteFilter(filter)
}

function takes(routes: readonly object[], event: AnyEvent, source = 'default'): boolean {
  const match = toMatch(routes.map(parse))
  if (match === undefined) throw new Error('the route has no condition')
  return match({ ...event, source })
}

const trade = (data: object = {}) => createEvent('wallet.large_trade', { data }) as AnyEvent

describe('a route', () => {
  it('without networks and where needs no match function', () => {
    const routes = [parse({ types: 'wallet.*' }), parse({ types: ['wallet.*', 'pump.graduation'] })]
    expect(typesOf(routes)).toEqual(['wallet.*', 'pump.graduation'])
    expect(toMatch(routes)).toBeUndefined()
    expect(typesOf([parse({})])).toEqual(['*'])
  })

  it('matches events of its types on its networks', () => {
    const routes = [{ types: ['wallet.*', 'token.new_listing'], networks: ['ethereum', 'base'] }]
    expect(takes(routes, trade({ network: 'base' }))).toBe(true)
    expect(takes(routes, trade({ network: 'solana' }))).toBe(false)
    expect(takes(routes, createEvent('token.new_listing', { data: { network: 'ethereum' } }) as AnyEvent)).toBe(true)
    expect(takes(routes, createEvent('token.risk_change', { data: { network: 'ethereum' } }) as AnyEvent)).toBe(false)
    expect(takes(routes, { id: 'e', type: 'wallet.none', created_at: '', data: {} })).toBe(false)
  })

  it('matches events of its source, by default those of the default source', () => {
    const routes = [{ types: 'wallet.*' }, { types: '*', source: 'desk' }]
    expect(sourcesOf(routes.map(parse))).toEqual(['default', 'desk'])
    const fill: AnyEvent = { id: 'e', type: 'fill', created_at: '', data: {} }
    expect(takes(routes, trade())).toBe(true)
    expect(takes(routes, fill)).toBe(false)
    expect(takes(routes, fill, 'desk')).toBe(true)
    expect(takes([{ source: '*' }, { types: 'fill' }], fill, 'other')).toBe(true)
  })

  it('for * does not match internal events', () => {
    const own = { id: 'e', type: 'inbox.warning', created_at: '', data: { level: 'critical' } }
    const where = { 'data.level': 'critical' }
    expect(takes([{ types: '*', where }], own)).toBe(false)
    expect(takes([{ types: 'inbox.*', where }], own)).toBe(true)
    expect(takes([{ types: ['*', 'inbox.warning'], where }], own)).toBe(true)
    expect(takes([{ types: '*', where }], { ...own, type: 'inboxes.none' })).toBe(true)
  })

  it('counts pump.graduation as an event on solana', () => {
    const graduation = createEvent('pump.graduation') as AnyEvent
    expect(takes([{ networks: 'solana' }], graduation)).toBe(true)
    expect(takes([{ networks: 'ethereum' }], graduation)).toBe(false)
  })

  it('among several matches an event once one of them does', () => {
    const routes = [
      { types: 'wallet.large_trade', networks: 'ethereum' },
      { types: 'wallet.*', where: { 'data.amount_usd': { gte: 1_000 } } },
    ]
    expect(takes(routes, trade({ network: 'solana', amount_usd: 1_000 }))).toBe(true)
    expect(takes(routes, trade({ network: 'ethereum', amount_usd: 1 }))).toBe(true)
    expect(takes(routes, trade({ network: 'solana', amount_usd: 999 }))).toBe(false)
  })
})

const event: AnyEvent = {
  id: 'evt_1',
  type: 'wallet.large_trade',
  created_at: '2026-01-02T03:04:05Z',
  data: {
    network: 'ethereum',
    amount_usd: 100_000,
    symbol: 'WETH',
    verified: false,
    nothing: null,
    pool: { dex: 'uniswap', fees: [1, 2] },
    token_address: '0xAbCdEf0123456789aBcDeF0123456789ABCDEF01',
    mint: 'So11111111111111111111111111111111111111112',
  },
} as AnyEvent

test.each<[object, boolean]>([
  [{ 'data.amount_usd': 100_000 }, true],
  [{ 'data.amount_usd': '100000' }, false],
  [{ 'data.symbol': ['ETH', 'WETH'] }, true],
  [{ 'data.verified': false, 'data.nothing': null }, true],
  [{ 'data.amount_usd': { gt: 99_999, lt: 100_001 } }, true],
  [{ 'data.amount_usd': { gt: 100_000 } }, false],
  [{ 'data.amount_usd': { gte: 100_000, lte: 100_000 } }, true],
  // Values of different types are neither more nor less.
  [{ 'data.amount_usd': { gte: '1' } }, false],
  [{ 'data.symbol': { lt: 5 } }, false],
  [{ 'data.missing': { lt: 5 } }, false],
  [{ created_at: { gte: '2026-01-01', lt: '2027' } }, true],
  [{ 'data.symbol': { ne: 'ETH' } }, true],
  [{ 'data.symbol': { ne: 'WETH' } }, false],
  [{ 'data.missing': { ne: 'WETH' } }, true],
  [{ 'data.symbol': { in: ['WETH'] } }, true],
  [{ 'data.missing': { exists: false }, 'data.symbol': { exists: true } }, true],
  [{ 'data.nothing': { exists: false } }, false],
  [{ 'data.pool.dex': 'uniswap', 'data.pool.fees.1': 2 }, true],
  [{ 'data.pool.dex.length': { exists: true } }, false],
  [{ 'data.constructor': { exists: true } }, false],
  // Case is ignored for EVM addresses only.
  [{ 'data.token_address': '0xabcdef0123456789abcdef0123456789abcdef01' }, true],
  [{ 'data.token_address': '0XABCDEF0123456789ABCDEF0123456789ABCDEF01' }, true],
  [{ 'data.token_address': { ne: '0xABCDEF0123456789ABCDEF0123456789ABCDEF01' } }, false],
  [{ 'data.mint': 'so11111111111111111111111111111111111111112' }, false],
  [{ id: 'evt_1', type: 'wallet.large_trade' }, true],
])('where %j holds: %j', (where, isTaken) => {
  expect(takes([{ where }], event)).toBe(isTaken)
})
