import { describe, expect, test } from 'vitest'
import { formatFilter, parseFilter, toQuery } from '../../src/web/console/events/filter.ts'
import { isFailing, stateOf } from '../../src/web/console/handlers/handler.ts'
import type { HandlerJson } from '../../src/admin/handlers.ts'

describe('the filter of events', () => {
  test('reads names with values, durations and words', () => {
    expect(parseFilter('  type:wallet.large_trade 1h network:base  two words handler:a:b ')).toEqual({
      type: 'wallet.large_trade',
      from: '1h',
      network: 'base',
      handler: 'a:b',
      q: 'two words',
    })
    expect(parseFilter('unknown:x type:')).toEqual({ q: 'unknown:x type:' })
  })

  test('is read back from its text', () => {
    const filter = { status: 'dead', from: '2d', q: 'a b', open: 'evt_1' }
    expect(parseFilter(formatFilter(filter))).toEqual({ status: 'dead', from: '2d', q: 'a b' })
  })

  test('turns a duration into a time, and leaves times as they are', () => {
    const now = Date.UTC(2026, 0, 31, 14)
    expect(toQuery({ from: '1h', to: '2026-01-31T14:00:00Z', type: 'x' }, now)).toEqual({
      from: '2026-01-31T13:00:00.000Z',
      to: '2026-01-31T14:00:00Z',
      type: 'x',
    })
    expect(toQuery({ from: '2d' }, now)).toEqual({ from: '2026-01-29T14:00:00.000Z' })
  })
})

const idle = { loaded: true, paused: false, shut: null, running: 0, waiting: 0, ready: 0, suspect: 0 }
const open = { shut: { reason: 'breaker' } }

test.each([
  ['Running', { ready: 1 }, 0.49],
  ['Running', {}, 1, []],
  ['Failing', {}, 1],
  ['Failing', { ready: 1 }, 1, []],
  ['Running', { ready: 1 }, null],
  ['Failing', { ready: 1 }, 0.5],
  ['Failing', { running: 1 }, 1],
  ['Paused', { ready: 1, paused: true }, 1],
  ['Breaker open', { ...open, ready: 1 }, 1],
  ['Breaker open, paused', { ...open, paused: true }, 1],
] as const)('a handler is %s with %j and an error rate of %s', (state, change, rate, series?: readonly []) => {
  const pace = { error_rate: rate, series: series ?? [1] }
  const handler = { ...idle, ...change, pace } as unknown as HandlerJson
  expect(stateOf(handler)[0]).toBe(state)
  expect(isFailing(handler)).toBe(/^(?:Failing|Breaker open)/.test(state))
})
