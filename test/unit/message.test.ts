import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toMessage } from '../../handlers/sinks/common/message.ts'
import { eventTypes, type AnyEvent } from '../../schema/index.ts'
import { eventSamples } from '../fixtures/event-samples.ts'

const change = (type: keyof typeof eventSamples, data: object): AnyEvent =>
  ({ ...eventSamples[type], data: { ...eventSamples[type].data, ...data } }) as AnyEvent

describe('toMessage', () => {
  test('R93–R102 words each documented type', () => {
    const worded = eventTypes.map((type) => toMessage(eventSamples[type]))
    expect(worded.map(({ severity, network, title }) => `${severity} ${network}: ${title}`)).toEqual([
      'info ethereum: PEPE is at $0.000001235, above $0.0000012',
      'info base: NEW (New Coin) is listed on Uniswap V3 with $50,000.00',
      'warning bnb: The risk of PEPE went from 20 to 72 (high)',
      'info ethereum: 0x5aAe…BeAed bought PEPE for $12,345.67',
      'info solana: 7xKX…gAsU opened a position in BONK: $2,500.00 at $0.0000234',
      'info arbitrum: 0x5aAe…BeAed has realized -$5,120.50, past -$5,000.00',
      'critical polygon: TRAP is a honeypot (sell_blocked), risk 97',
      'critical avalanche: RUG lost $80,000.00 of liquidity (82.50%), $17,000.00 is left',
      'info ethereum: The ownership of OWN was renounced by 0x5aAe…BeAed',
      'info solana: WIF (dogwifhat) graduated with 85.123456789 SOL',
    ])
    for (const [index, type] of eventTypes.entries()) {
      const { id, created_at: time } = eventSamples[type]
      expect(worded[index]).toMatchObject({ eventId: id, time, type })
    }
  })

  test('R99 says in facts what the title does not', () => {
    expect(toMessage(eventSamples['contract.honeypot_detected']).facts).toEqual([
      ['holders', '1,132'],
      ['liquidity', '$12,000.00'],
      ['summary', 'Transfers to the pool revert.'],
      ['contract', `0x${'6'.repeat(40)}`],
    ])
  })

  test.each([
    [20, 49, 'info'],
    [20, 50, 'warning'],
    [20, 75, 'critical'],
    [90, 80, 'info'],
    [20, 'high', 'info'],
  ])('R95 takes a risk that goes from %s to %s for %s', (before, now, severity) => {
    const event = change('token.risk_change', { previous_risk_score: before, current_risk_score: now })
    expect(toMessage(event).severity).toBe(severity)
  })

  test('R101 takes a new owner for a warning', () => {
    const event = change('contract.ownership_changed', { new_owner: `0x${'c'.repeat(40)}` })
    expect(toMessage(event)).toMatchObject({
      severity: 'warning',
      title: 'The ownership of OWN went from 0x5aAe…BeAed to 0xcccc…ccccc',
    })
  })

  test('R127 shows a type that nobody has worded with its first fields, and no type is mistaken for a property', () => {
    const data = { network: 'tron', pair: 'A/B', volume_usd: 1e-7, list: [1], on: true }
    for (const type of ['token.volume_spike', 'constructor', '__proto__'])
      expect(toMessage({ id: 'evt_1', type, created_at: '', data })).toMatchObject({
        title: type,
        severity: 'info',
        network: 'tron',
        links: [],
        facts: [
          ['pair', 'A/B'],
          ['volume_usd', '1e-7'],
          ['on', 'true'],
        ],
      })
  })

  test('R103 never throws, and its text is on one line, well-formed and without control or bidi characters', () => {
    const names = [...new Set(eventTypes.flatMap((type) => Object.keys(eventSamples[type].data)))]
    const value = fc.oneof(
      fc.constantFrom<unknown>(null, undefined, Number.NaN, -0, 1e300, [], [[{}]], {}, true, 10n),
      fc.double(),
      fc.string({ unit: 'binary' }),
      fc.constantFrom('\u202eevil\n', '\ud800', 'x'.repeat(100_000), '\u0007'),
    )
    fc.assert(
      fc.property(
        fc.constantFrom(...eventTypes, 'token.other', '\u202e\n'),
        fc.dictionary(fc.constantFrom(...names), value),
        (type, data) => {
          const { title, facts, network } = toMessage({ id: 'evt_1', type, created_at: '', data })
          const text = [title, network ?? '', ...facts.flat()].join(' ')
          expect(text.isWellFormed()).toBe(true)
          // eslint-disable-next-line no-control-regex
          expect(text).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/)
          expect(text.length).toBeLessThan(6_000)
        },
      ),
    )
  })
})
