import { describe, expect, test } from 'vitest'
import { eventSchemas, eventTypes, parseEvent } from '../../schema/index.ts'
import { createTestClock } from '../../src/clock.ts'
import { createEventSource, type EmittedEvent } from '../../src/emulator/events.ts'
import { toBase58, toChecksumAddress, toPumpMint } from '../../src/emulator/identity.ts'
import { serialize } from '../../src/emulator/serialize.ts'

const evmAddress = /^0x[0-9a-fA-F]{40}$/
const base58 = /^[1-9A-HJ-NP-Za-km-z]+$/

function draw(seed: string, count: number): EmittedEvent[] {
  const source = createEventSource({ seed, clock: createTestClock() })
  return Array.from({ length: count }, () => source.next())
}

function base58Length(text: string): number {
  const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
  const value = Array.from(text).reduce((sum, letter) => sum * 58n + BigInt(alphabet.indexOf(letter)), 0n)
  return Math.ceil(value.toString(16).length / 2) + (/^1*/.exec(text)?.[0].length ?? 0)
}

describe('event source', () => {
  test.each(eventTypes)('R92–R102 %s events are valid, with the documented fields and no others', (type) => {
    const source = createEventSource({ seed: 'fields', clock: createTestClock() })
    for (let n = 0; n < 200; n++) {
      const event: unknown = JSON.parse(serialize(source.next(type)).toString())
      expect(parseEvent(event)).toEqual(event)
      expect(event).toMatchObject({ type, id: expect.stringMatching(/^evt_[0-9A-HJKMNP-TV-Z]{26}$/) })
      const data = (event as EmittedEvent).data
      expect(Object.keys(data)).toEqual(Object.keys(eventSchemas[type].shape.data.shape))
    }
  })

  test('is deterministic from the seed, and another seed gives other events', () => {
    const bytes = (seed: string) => Buffer.concat(draw(seed, 300).map(serialize)).toString('hex')
    expect(bytes('demo')).toBe(bytes('demo'))
    expect(bytes('demo')).not.toBe(bytes('other'))
  })

  test('the data of one type does not depend on how many of another were drawn', () => {
    const one = createEventSource({ seed: 'demo', clock: createTestClock() })
    const two = createEventSource({ seed: 'demo', clock: createTestClock() })
    for (let n = 0; n < 5; n++) two.next('wallet.large_trade')
    expect(one.next('pump.graduation').data).toEqual(two.next('pump.graduation').data)
  })

  test('all ten types come by themselves', () => {
    expect(new Set(draw('demo', 1000).map(({ type }) => type))).toEqual(new Set(eventTypes))
  })

  test('A40 ids are unique and sort by time, within a millisecond by order, also when the clock is set back', async () => {
    const clock = createTestClock()
    let skewMs = 0
    const source = createEventSource({ seed: 'demo', clock: { now: () => clock.now() - skewMs } })
    const ids: string[] = []
    for (let n = 0; n < 50; n++) {
      ids.push(source.next().id, source.next().id)
      await clock.advance(n * 7)
      if (n === 25) skewMs = 3_600_000
    }
    expect(ids.toSorted()).toEqual(ids)
    expect(new Set(ids).size).toBe(100)
  })

  test('addresses and hashes have the shape of their network', () => {
    const fields = /address|owner|raydium_pool|tx_hash|_tx$/
    let seen = 0
    for (const { data } of draw('shapes', 500)) {
      const isSolana = !('network' in data) || data.network === 'solana'
      for (const [name, value] of Object.entries(data)) {
        if (!fields.test(name) || typeof value !== 'string') continue
        seen++
        const isHash = /tx/.test(name)
        if (isSolana) {
          expect(value).toMatch(base58)
          expect(base58Length(value)).toBe(isHash ? 64 : 32)
        } else expect(value).toMatch(isHash ? /^0x[0-9a-f]{64}$/ : evmAddress)
      }
    }
    expect(seen).toBeGreaterThan(1000)
  })

  test('a small cast comes again and again, always with the same symbol and network', () => {
    const symbols = new Map<string, string>()
    let trades = 0
    for (const { type, data } of draw('demo', 2000)) {
      if (type !== 'wallet.large_trade' || !('token_symbol' in data)) continue
      trades++
      const known = symbols.get(data.token_address) ?? `${data.network} ${data.token_symbol}`
      expect(`${data.network} ${data.token_symbol}`).toBe(known)
      symbols.set(data.token_address, known)
    }
    expect(trades).toBeGreaterThan(200)
    expect(symbols.size).toBeLessThanOrEqual(21)
  })

  test('numbers agree with each other', () => {
    for (const { type, data } of draw('numbers', 2000)) {
      if (type === 'token.price_alert' && 'alert_type' in data) {
        const isAbove = data.alert_type === 'price_above'
        expect(
          isAbove ? data.current_price_usd >= data.threshold_usd : data.current_price_usd <= data.threshold_usd,
        ).toBe(true)
      }
      if (type === 'token.risk_change' && 'risk_level' in data) {
        expect(Math.abs(data.current_risk_score - data.previous_risk_score)).toBeGreaterThan(10)
      }
      if (type === 'wallet.large_trade' && 'trade_type' in data) expect(data.amount_usd).toBeGreaterThanOrEqual(10_000)
      if (type === 'wallet.pnl_milestone' && 'milestone_usd' in data) {
        expect(data.realized_pnl_usd / data.milestone_usd).toBeGreaterThanOrEqual(1)
        expect(Math.sign(data.roi_pct)).toBe(Math.sign(data.milestone_usd))
      }
      if (type === 'contract.liquidity_removed' && 'liquidity_removed_pct' in data) {
        const total = data.liquidity_removed_usd + data.remaining_liquidity_usd
        expect((data.liquidity_removed_usd / total) * 100).toBeCloseTo(data.liquidity_removed_pct, 3)
      }
    }
  })
})

describe('identity', () => {
  test('EIP-55 case follows the published vectors', () => {
    for (const address of [
      '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
      '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
    ]) {
      expect(toChecksumAddress(address.slice(2).toLowerCase())).toBe(address)
    }
  })

  test('base58 follows published vectors, leading zeros included', () => {
    expect(toBase58(Buffer.from('Hello World!'))).toBe('2NEpo7TZRRrLZSi2U')
    expect(toBase58(Buffer.from('0000287fb4cd', 'hex'))).toBe('11233QC4')
    expect(toBase58(Buffer.alloc(32))).toBe('1'.repeat(32))
  })

  test('mints of the launch platform end in pump and are 32 bytes long, even for extreme bytes', () => {
    for (const bytes of [Buffer.alloc(32), Buffer.alloc(32, 255), Buffer.alloc(32, 1)]) {
      expect(toPumpMint(bytes)).toMatch(/pump$/)
      expect(base58Length(toPumpMint(bytes))).toBe(32)
    }
  })
})

describe('serialize', () => {
  test('R73 the bytes are never what JSON.stringify makes of them, yet mean the same', () => {
    for (const event of draw('bytes', 500)) {
      const text = serialize(event).toString()
      expect(text).not.toBe(JSON.stringify(JSON.parse(text)))
      expect(JSON.parse(text)).toEqual(event)
    }
  })

  test('whole numbers in fractional fields carry .0, integer fields do not', () => {
    const source = createEventSource({ seed: 'demo', clock: createTestClock() })
    const milestone = serialize(source.next('wallet.pnl_milestone')).toString()
    expect(milestone).toMatch(/"milestone_usd": -?\d+\.0, /)
    expect(serialize(source.next('token.risk_change')).toString()).toMatch(/"current_risk_score": \d+, /)
    const honeypot = serialize(source.next('contract.honeypot_detected')).toString()
    expect(honeypot).toMatch(/"risk_score": \d+, /)
    expect(honeypot).toMatch(/"holder_count": \d+, /)
  })

  test('negative, exponent and fractional numbers and escapes stay valid JSON', () => {
    const event = createEventSource({ seed: 'demo', clock: createTestClock() }).next('wallet.new_position')
    if (event.type !== 'wallet.new_position') throw new Error('wrong type')
    const data = { ...event.data, amount_usd: -3, entry_price_usd: 1e-7, token_symbol: '"\u2028é\\' }
    const text = serialize({ ...event, data }).toString()
    expect(text).toContain('"amount_usd": -3.0, ')
    expect(text).toContain('"entry_price_usd": 1e-7, ')
    expect(JSON.parse(text)).toEqual({ ...event, data })
  })
})
