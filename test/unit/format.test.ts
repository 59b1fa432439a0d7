import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it, test } from 'vitest'
import { eventTypes, type AnyEvent } from '../../schema/index.ts'
import {
  describeEvent,
  formatAmount,
  formatEvent,
  formatPercent,
  formatText,
  formatTime,
  formatUsd,
  shortAddress,
} from '../../src/dispatch/format.ts'
import { eventSamples } from '../fixtures/event-samples.ts'

it.each([
  [12_345.67, '$12,345.67'],
  [0, '$0.00'],
  [-0, '$0.00'],
  [0.5, '$0.50'],
  [0.1234, '$0.1234'],
  [0.999999, '$1.00'],
  [1e-7, '$0.0000001'],
  [-1.5e-7, '-$0.00000015'],
  [1e-18, '$0.000000000000000001'],
  [1e-19, '<$0.000000000000000001'],
  [1.5e21, '$1.500e+21'],
  ['12345.67', '$12,345.67'],
  ['12,345', '$?'],
  [undefined, '$?'],
  [Number.NaN, '$?'],
])('formatUsd %j is %s', (value, expected) => {
  expect(formatUsd(value)).toBe(expected)
})

it('formatUsd shows the sign of a gain on request', () => {
  expect([
    formatUsd(5, { sign: 'always' }),
    formatUsd(-5, { sign: 'always' }),
    formatUsd(0, { sign: 'always' }),
  ]).toEqual(['+$5.00', '-$5.00', '$0.00'])
})

describe('other pieces', () => {
  it.each([
    [12.3, '+12.30%'],
    [-4, '-4.00%'],
    [0, '0.00%'],
    [1234.5, '+1,234.50%'],
    [1e300, '+1.000e+300%'],
    [null, '?%'],
  ])('formatPercent: %j is %s', (value, expected) => {
    expect(formatPercent(value)).toBe(expected)
  })

  it.each([
    ['0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed', '0x5aAe…BeAed'],
    ['7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU', '7xKX…gAsU'],
    ['0x123456789a', '0x123456789a'],
    ['', '?'],
    [42, '?'],
  ])('shortAddress: %j is %s', (value, expected) => {
    expect(shortAddress(value)).toBe(expected)
  })

  it.each([
    ['2026-01-31T14:03:22.123456789Z', '14:03:22'],
    ['2026-01-31t14:03:22z', '14:03:22'],
    ['2026-01-31T14:03:22+00:00', '14:03:22'],
    ['2026-01-31T14:03:22+02:00', '--:--:--'],
    ['soon', '--:--:--'],
  ])('A4: formatTime: %j is %s', (value, expected) => {
    expect(formatTime(value)).toBe(expected)
  })

  it('formatAmount groups digits and keeps nine decimals on request', () => {
    expect([formatAmount(1132), formatAmount(85.123456789, 9), formatAmount(-0), formatAmount('x')]).toEqual([
      '1,132',
      '85.123456789',
      '0',
      '?',
    ])
  })

  it('formatText escapes control characters and cuts long text', () => {
    expect(formatText('a\nb\u202ec\u001b[2J')).toBe('a\\u000ab\\u202ec\\u001b[2J')
    expect(formatText('x'.repeat(50))).toBe(`${'x'.repeat(40)}…`)
  })
})

describe('formatEvent', () => {
  const lines: Record<string, string> = {
    'R93 token.price_alert':
      '14:03:22 UTC  token.price_alert           ethereum   EXMPL at $1.25, above $1.20 · 24h +12.30% · token 0xfB69…5d359',
    'R94 token.new_listing':
      '14:03:22 UTC  token.new_listing           ethereum   EXMPL (Example Coin) listed on Uniswap V2 with $50,000.00 · token 0xfB69…5d359 · pool 0xD122…b9aDb · transaction 0x4a7f…1b2d8',
    'R95 token.risk_change':
      '14:03:22 UTC  token.risk_change           ethereum   EXMPL risk 33 → 58 (high) · checks mintable, hidden_owner · summary Risk score of EXMPL moved from 33 to 58; new findings: mintable, hidden_owner. · token 0xfB69…5d359',
    'R96 wallet.large_trade':
      '14:03:22 UTC  wallet.large_trade          ethereum   0x5aAe…BeAed bought EXMPL for $12,000.00 · token 0xfB69…5d359 · transaction 0x4a7f…1b2d8',
    'R97 wallet.new_position':
      '14:03:22 UTC  wallet.new_position         ethereum   0x5aAe…BeAed opened EXMPL: $12,000.00 at $1.00 · token 0xfB69…5d359 · transaction 0x4a7f…1b2d8',
    'R98 wallet.pnl_milestone':
      '14:03:22 UTC  wallet.pnl_milestone        ethereum   0x5aAe…BeAed realized +$1,500.00, past +$1,000.00 · ROI +75.00% · timeframe all',
    'R99 contract.honeypot_detected':
      '14:03:22 UTC  contract.honeypot_detected  ethereum   EXMPL is a honeypot (sell_blocked), risk 97 · holders 1,132 · liquidity $12,000.00 · summary A simulated sale of EXMPL fails (sell_blocked): buyers cannot sell. · contract 0xfB69…5d359',
    'R100 contract.liquidity_removed':
      '14:03:22 UTC  contract.liquidity_removed  ethereum   EXMPL lost $80,000.00 of liquidity (80.00%), $20,000.00 left · contract 0xfB69…5d359 · pool 0xD122…b9aDb · transaction 0x4a7f…1b2d8',
    'R101 contract.ownership_changed':
      '14:03:22 UTC  contract.ownership_changed  ethereum   EXMPL owner 0x8617…8070D → 0xde70…2fb77 · contract 0xfB69…5d359 · transaction 0x4a7f…1b2d8',
    'R102 pump.graduation':
      '14:03:22 UTC  pump.graduation             solana     CURVE (Curve Coin) graduated with 85.005359057 SOL · token 7xKX…gAsU · pool EP2i…eyMx · transaction 5Jx7…aUwZ',
  }

  it.each(Object.entries(lines))('formats %s', (title, line) => {
    const type = eventTypes.find((name) => title.endsWith(name))!
    expect(formatEvent(eventSamples[type])).toBe(line)
  })

  it.each(['token.volume_spike', 'constructor', '__proto__'])(
    'R127: shows the fields of the unknown type %s',
    (type) => {
      const data = {
        token_address: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
        network: 'base',
        symbol: 'PEPE',
        volume_usd: 1e-7,
        change_pct: 250,
        confirmed: true,
        deep: { x: 1 },
      }
      expect(formatEvent({ id: 'evt_1', type, created_at: '2026-01-31T14:03:22Z', data })).toBe(
        `14:03:22 UTC  ${type.padEnd(26)}  base       symbol PEPE · volume_usd $0.0000001 · change_pct +250.00% · confirmed true · token 0x5aAe…BeAed`,
      )
    },
  )

  it('R103: shows undocumented values unchanged', () => {
    const { data, ...rest } = eventSamples['wallet.large_trade']
    expect(formatEvent({ ...rest, data: { ...data, trade_type: 'liquidate' } })).toContain('liquidate EXMPL for')
    expect(formatEvent({ ...rest, data: { ...data, trade_type: 'constructor' } })).toContain('constructor EXMPL for')
  })

  it('shows a question mark for a missing value', () => {
    expect(formatEvent({ type: 'wallet.large_trade' } as AnyEvent)).toContain('? ? ? for $?')
    expect(formatEvent(null as never)).toBe(`--:--:-- UTC  ${'?'.padEnd(26)}  ${'?'.padEnd(9)}  `)
  })

  it('colours a line only on request, without changing its text', () => {
    const plain = formatEvent(eventSamples['token.price_alert'])
    const coloured = formatEvent(eventSamples['token.price_alert'], { color: true })
    expect(stripVTControlCharacters(plain)).toBe(plain)
    expect(coloured).not.toBe(plain)
    expect(stripVTControlCharacters(coloured)).toBe(plain)
  })
})

test.each([
  [20, 49, 'info'],
  [20, 50, 'warning'],
  [20, 75, 'critical'],
  [90, 80, 'info'],
  [20, 'high', 'info'],
])('R95: a risk from %s to %s is %s', (before, now, severity) => {
  const { data, ...rest } = eventSamples['token.risk_change']
  const risk = { previous_risk_score: before, current_risk_score: now }
  expect(describeEvent({ ...rest, data: { ...data, ...risk } } as AnyEvent).severity).toBe(severity)
})

test.each([`0x${'0'.repeat(40)}`, '1'.repeat(32)])('R101: the new owner %s renounces ownership', (new_owner) => {
  const { data, ...rest } = eventSamples['contract.ownership_changed']
  expect(describeEvent({ ...rest, data })).toMatchObject({ severity: 'warning' })
  const { severity, title } = describeEvent({ ...rest, data: { ...data, new_owner } })
  expect(severity).toBe('info')
  expect(title).toMatch(/^EXMPL owner 0x8617…8070D → .*(0000|1111) \(renounced\)$/)
})

test('R99: describeEvent keeps addresses in full', () => {
  expect(describeEvent(eventSamples['contract.honeypot_detected'])).toMatchObject({
    severity: 'critical',
    network: 'ethereum',
    addresses: [['contract', '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359']],
  })
})
