import { expect, test } from 'vitest'
import { createFaults } from '../../src/emulator/faults/faults.ts'
import { faultRuleSchema, type FaultRuleInput } from '../../src/emulator/faults/kinds.ts'
import { serialize } from '../../src/emulator/serialize.ts'
import { parseSecrets } from '../../src/signature/keys.ts'
import { sign } from '../../src/signature/sign.ts'
import { verify, type VerifyResult } from '../../src/signature/verify.ts'
import { createEvent } from '../../src/app/testing/create-event.ts'

const secret = 'whsec_of-the-receiver-of-the-test'
const body = serialize(createEvent('token.risk_change'))

/** What a receiver gets of an event that suffers faults, and what its own verification says. Node joins repeated headers. */
function deliver(eventId: string, ...faultsOut: readonly object[]) {
  const faults = createFaults({ seed: 'post' })
  for (const fault of faultsOut) faults.add(faultRuleSchema.parse({ direction: 'out', fault } as FaultRuleInput))
  const target = { deliveryId: 'dlv_1', endpointId: 'wh_1', url: 'http://a/', eventId, eventType: 'token.risk_change' }
  const plan = faults.planAttempt(target, 1)
  const altered = plan.alter(body)
  const signatures = plan.sign(altered, secret)
  const got = plan.tamper(altered)
  const header = signatures.length === 0 ? undefined : signatures.join(', ')
  return { got, header, verdict: verify(got, header, parseSecrets(secret)) }
}

const accepted: VerifyResult = { ok: true, label: 'secret-1' }
const refusedAs = (reason: 'missing' | 'malformed' | 'mismatch'): VerifyResult => ({ ok: false, reason })

test.each([
  ['no fault', [], accepted],
  ['signature-bad', [{ kind: 'signature-bad' }], refusedAs('mismatch')],
  ['signature-missing', [{ kind: 'signature-missing' }], refusedAs('missing')],
  ['signature-upper-case', [{ kind: 'signature-upper-case' }], accepted],
  ['signature-prefixed', [{ kind: 'signature-prefixed' }], refusedAs('malformed')],
  ['signature-wrong-secret', [{ kind: 'signature-wrong-secret' }], refusedAs('mismatch')],
  ['signature-repeated', [{ kind: 'signature-repeated' }], refusedAs('malformed')],
  ['missing beats all', [{ kind: 'signature-missing' }, { kind: 'signature-repeated' }], refusedAs('missing')],
])('R71, R75, A30, A31 %s: what the receiver verifies', (_, faults, expected) => {
  const { verdict, got } = deliver('evt_1', ...faults)
  expect(verdict).toEqual(expected)
  expect(got).toEqual(body)
})

test('A30 the forms that are sent', () => {
  const digest = sign(body, secret)
  const headerWith = (kind: string) => deliver('evt_1', { kind }).header
  expect(headerWith('signature-upper-case')).toBe(digest.toUpperCase())
  expect(headerWith('signature-prefixed')).toBe(`sha256=${digest}`)
  expect(headerWith('signature-repeated')).toBe(`${digest}, ${digest}`)
  const bad = headerWith('signature-bad') ?? ''
  expect(bad).toMatch(/^[0-9a-f]{64}$/)
  expect(Array.from(bad).filter((digit, index) => digit !== digest[index])).toHaveLength(1)
})

test('R75 tamper changes one byte after signing, another one for another event: mismatch', () => {
  const places = new Set<number>()
  for (let index = 0; index < 8; index++) {
    const { verdict, got, header } = deliver(`evt_${index}`, { kind: 'tamper' })
    expect(verdict).toEqual(refusedAs('mismatch'))
    expect(header).toBe(sign(body, secret))
    expect(got).toHaveLength(body.length)
    const changed = [...got].flatMap((byte, at) => (byte === body[at] ? [] : [at]))
    expect(changed).toHaveLength(1)
    places.add(changed[0] ?? -1)
  }
  expect(places.size).toBeGreaterThan(3)
})

test('R75 truncate: the body is cut, the signature that of the whole', () => {
  const { verdict, got, header } = deliver('evt_1', { kind: 'truncate', share: 0.25 })
  expect(verdict).toEqual(refusedAs('mismatch'))
  expect(header).toBe(sign(body, secret))
  expect(got).toEqual(body.subarray(0, Math.floor(body.length / 4)))
})

test.each([
  [{ kind: 'skew' }],
  [{ kind: 'unknown-type' }],
  [{ kind: 'case-flip' }],
  [{ kind: 'extra-fields' }],
  [{ kind: 'reserialise', profile: 'escaped' }],
  [{ kind: 'reserialise', profile: 'canonical' }],
  [{ kind: 'huge', bytes: 3_000_000 }],
])('R72, R73 what changes the event is signed as it is sent: %j', (fault) => {
  const { verdict, got } = deliver('evt_1', fault)
  expect(verdict).toEqual(accepted)
  expect(got.equals(body)).toBe(false)
})
