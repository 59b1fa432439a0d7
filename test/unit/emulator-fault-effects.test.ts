import { describe, expect, test } from 'vitest'
import { createEvent } from '../../src/app/testing/create-event.ts'
import { createFaults } from '../../src/emulator/faults/faults.ts'
import { faultRuleSchema, type FaultRuleInput } from '../../src/emulator/faults/rules.ts'
import { serialize, serializerProfiles } from '../../src/emulator/serialize.ts'
import { parseSecrets } from '../../src/signature/keys.ts'
import { sign } from '../../src/signature/sign.ts'
import { verify, type VerifyResult } from '../../src/signature/verify.ts'
import { eventSamples } from '../fixtures/event-samples.ts'

type Event = Record<'id' | 'type' | 'created_at', string> & { readonly data: Record<string, unknown> }
type Fault = FaultRuleInput['fault']

const samples = Object.values(eventSamples)
const trade = eventSamples['wallet.large_trade']
const ids = Array.from({ length: 1_000 }, (_, index) => `evt_${index}`)

const faultsOf = (faultsOut: readonly Fault[]) => {
  const faults = createFaults({ seed: 'effects' })
  for (const fault of faultsOut) faults.add(faultRuleSchema.parse({ direction: 'out', fault } as FaultRuleInput))
  return faults
}
const targetOf = (eventId: string) => {
  return { deliveryId: 'dlv_1', endpointId: 'wh_1', url: 'http://a/', eventId, eventType: 'token.risk_change' }
}

describe('faults of the body', () => {
  /** The bytes of an event with these faults. */
  const altered = (given: object, ...faultsOut: readonly Fault[]) =>
    faultsOf(faultsOut).planAttempt(targetOf('evt_1'), 1).alter(serialize(given))
  const read = (bytes: Buffer) => JSON.parse(bytes.toString()) as Event

  test('2.8 skew changes created_at only, if that is a time', () => {
    for (const sample of samples) {
      const { created_at, ...rest } = read(altered(sample, { kind: 'skew', ms: -60_000 }))
      expect(Date.parse(created_at)).toBe(Date.parse(sample.created_at) - 60_000)
      expect({ ...rest, created_at: sample.created_at }).toEqual(sample)
    }
    for (const created_at of ['yesterday', '+275760-09-13T00:00:00Z'])
      expect(read(altered({ ...trade, created_at }, { kind: 'skew' })).created_at).toBe(created_at)
  })

  test('R127 unknown-type changes the type only', () => {
    expect(read(altered(trade, { kind: 'unknown-type' }))).toEqual({ ...trade, type: 'token.unheard_of' })
    expect(read(altered(trade, { kind: 'unknown-type', type: 'x.y' })).type).toBe('x.y')
  })

  test('R125 extra-fields adds a member at the top level and in data', () => {
    for (const sample of samples) {
      const added_later = expect.objectContaining({ version: 2 })
      const expected = { ...sample, added_later, data: { ...sample.data, added_later } }
      expect(read(altered(sample, { kind: 'extra-fields' }))).toEqual(expected)
    }
  })

  test('A9 case-flip changes the case of EVM addresses anywhere, and nothing else', () => {
    const address = '0x6982508145454Ce325dDbE47a25d4ec3d2311933'
    const flipped = '0x6982508145454cE325DdBe47A25D4EC3D2311933'
    const other = { hash: `0x${'aB'.repeat(32)}`, solana: 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263', n: 1.5 }
    const eventWith = (one: string) => {
      return { id: 'evt_AbC', data: { a: one, text: `of ${one}, too`, list: [one], ...other } }
    }
    expect(read(altered(eventWith(address), { kind: 'case-flip' }))).toEqual(eventWith(flipped))
  })

  test.each(serializerProfiles)('R73 2.8 reserialise and huge in the profile %s keep the event', (profile) => {
    for (const sample of samples) {
      const bytes = altered(sample, { kind: 'reserialise', profile })
      expect(bytes.equals(serialize(sample, profile))).toBe(true)
    }
    const huge = altered(trade, { kind: 'huge', bytes: 1_500_000 }, { kind: 'reserialise', profile })
    expect(huge).toHaveLength(1_500_000)
    const { padding, ...data } = read(huge).data
    expect({ ...read(huge), data }).toEqual(trade)
    expect(padding).toMatch(/^x+$/)
  })
})

describe('faults of signature and bytes', () => {
  const secret = 'whsec_of-the-receiver-of-the-test'
  const body = serialize(createEvent('token.risk_change'))
  const digest = sign(body, secret)

  /** The received bytes, the header, and the verdict of the receiver. Node joins repeated headers. */
  function deliver(eventId: string, ...faultsOut: readonly Fault[]) {
    const plan = faultsOf(faultsOut).planAttempt(targetOf(eventId), 1)
    const altered = plan.alter(body)
    const signatures = plan.sign(altered, secret)
    const got = plan.tamper(altered)
    const header = signatures.length === 0 ? undefined : signatures.join(', ')
    return { got, header, verdict: verify(got, header, parseSecrets(secret)) }
  }

  const accepted: VerifyResult = { ok: true, label: 'secret-1' }
  const rejected = (reason: 'missing' | 'malformed' | 'mismatch'): VerifyResult => ({ ok: false, reason })

  test.each<[string, Fault[], VerifyResult, unknown]>([
    ['no fault', [], accepted, digest],
    ['signature-bad', [{ kind: 'signature-bad' }], rejected('mismatch'), expect.stringMatching(/^[0-9a-f]{64}$/)],
    ['signature-missing', [{ kind: 'signature-missing' }], rejected('missing'), undefined],
    ['signature-upper-case', [{ kind: 'signature-upper-case' }], accepted, digest.toUpperCase()],
    ['signature-prefixed', [{ kind: 'signature-prefixed' }], rejected('malformed'), `sha256=${digest}`],
    ['signature-wrong-secret', [{ kind: 'signature-wrong-secret' }], rejected('mismatch'), expect.any(String)],
    ['signature-repeated', [{ kind: 'signature-repeated' }], rejected('malformed'), `${digest}, ${digest}`],
    ['missing wins', [{ kind: 'signature-missing' }, { kind: 'signature-repeated' }], rejected('missing'), undefined],
  ])('R71 R75 A30 A31 %s', (_, faults, verdict, header) => {
    expect(deliver('evt_1', ...faults)).toEqual({ verdict, header, got: body })
  })

  test('R75 tamper changes one byte after signing, at a place drawn per event', () => {
    const places = new Set<number>()
    for (let index = 0; index < 8; index++) {
      const { verdict, got, header } = deliver(`evt_${index}`, { kind: 'tamper' })
      expect([verdict, header, got.length]).toEqual([rejected('mismatch'), digest, body.length])
      const changed = [...got].flatMap((byte, at) => (byte === body[at] ? [] : [at]))
      expect(changed).toHaveLength(1)
      places.add(changed[0] ?? -1)
    }
    expect(places.size).toBeGreaterThan(3)
  })

  test('R75 truncate cuts the body after signing', () => {
    const got = body.subarray(0, Math.floor(body.length / 4))
    expect(deliver('evt_1', { kind: 'truncate', share: 0.25 })).toEqual({
      verdict: rejected('mismatch'),
      header: digest,
      got,
    })
  })
})

describe('2.8 faults of the time', () => {
  const now = Date.UTC(2026, 0, 1, 0, 0, 7)
  const heldBy = (faultsOut: readonly Fault[], at = now) => {
    const faults = faultsOf(faultsOut)
    return (eventId: string) => faults.holdMs(targetOf(eventId), at)
  }

  test('a uniform delay is a repeatable whole number between its bounds', () => {
    const fault: Fault = { kind: 'delay', distribution: 'uniform', minMs: 1_000, maxMs: 2_000 }
    const held = ids.map(heldBy([fault]))
    expect(held.every((ms) => Number.isInteger(ms) && ms >= 1_000 && ms <= 2_000)).toBe(true)
    expect(Math.max(...held) - Math.min(...held)).toBeGreaterThan(950)
    expect(ids.map(heldBy([fault]))).toEqual(held)
  })

  test('a lognormal delay has its median, a long tail, and a maximum of a day', () => {
    const heldWith = (medianMs: number, sigma: number) =>
      ids.map(heldBy([{ kind: 'delay', distribution: 'lognormal', medianMs, sigma }])).toSorted((a, b) => a - b)
    const held = heldWith(1_000, 1)
    expect(Math.abs(held[500]! - 1_000)).toBeLessThan(150)
    // e^1 times the median.
    expect(Math.abs(held[841]! - 2_718)).toBeLessThan(600)
    expect(heldWith(86_400_000, 5).at(-1)).toBe(86_400_000)
  })

  test('burst holds all events of an interval until its end; delays add up first', () => {
    const burst: Fault = { kind: 'burst', everyMs: 10_000 }
    const arrivals = [1, 2_000, 3_000].map((ms) => now + ms + heldBy([burst], now + ms)('evt_1'))
    expect(arrivals).toEqual([now + 3_000, now + 3_000, now + 3_000])
    expect(heldBy([burst, { kind: 'delay', ms: 4_000 }])('evt_1')).toBe(13_000)
  })
})
