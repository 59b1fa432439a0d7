import { expect, test } from 'vitest'
import { createFaults } from '../../src/emulator/faults/faults.ts'
import { faultRuleSchema, type FaultRuleInput } from '../../src/emulator/faults/kinds.ts'
import { serialize, serializerProfiles } from '../../src/emulator/serialize.ts'
import { eventSamples } from '../fixtures/event-samples.ts'

type Event = Record<'id' | 'type' | 'created_at', string> & { readonly data: Record<string, unknown> }

const samples = Object.values(eventSamples)
const trade = eventSamples['wallet.large_trade']

/** The bytes of an event that suffers these faults. */
function altered(given: object, ...faultsOut: readonly object[]): Buffer {
  const faults = createFaults({ seed: 'body' })
  for (const fault of faultsOut) faults.add(faultRuleSchema.parse({ direction: 'out', fault } as FaultRuleInput))
  const target = { deliveryId: 'dlv_1', endpointId: 'wh_1', url: 'http://a/', eventId: 'evt_1', eventType: 'any' }
  return faults.planAttempt(target, 1).alter(serialize(given))
}

const read = (bytes: Buffer) => JSON.parse(bytes.toString()) as Event

test('2.8 skew moves created_at and nothing else', () => {
  for (const sample of samples) {
    const { created_at, ...rest } = read(altered(sample, { kind: 'skew', ms: -60_000 }))
    expect(Date.parse(created_at)).toBe(Date.parse(sample.created_at) - 60_000)
    expect({ ...rest, created_at: sample.created_at }).toEqual(sample)
  }
  expect(altered({ created_at: 'some day' }, { kind: 'skew' }).toString()).toBe('{"created_at": "some day"}')
})

test('R127 unknown-type changes the type and nothing else', () => {
  expect(read(altered(trade, { kind: 'unknown-type' }))).toEqual({ ...trade, type: 'token.unheard_of' })
  expect(read(altered(trade, { kind: 'unknown-type', type: 'x.y' })).type).toBe('x.y')
})

test('R125 extra-fields adds a member at the top level and in data, and leaves all others', () => {
  for (const sample of samples) {
    const { added_later, data, ...rest } = read(altered(sample, { kind: 'extra-fields' })) as Event & {
      added_later: object
    }
    expect({ ...rest, data: { ...data, added_later: undefined } }).toEqual({
      ...sample,
      data: { ...sample.data, added_later: undefined },
    })
    expect(data['added_later']).toEqual(added_later)
    expect(Object.keys(added_later)).not.toHaveLength(0)
  }
})

test('A9 case-flip changes the case of EVM addresses, wherever they stand, and of nothing else', () => {
  const address = '0x6982508145454Ce325dDbE47a25d4ec3d2311933'
  const flipped = '0x6982508145454cE325DdBe47A25D4EC3D2311933'
  const hash = `0x${'aB'.repeat(32)}`
  const solana = 'DezXAZ8z7PnrnRJjz3wXBoRgixCa6xjnB7YaB1pPB263'
  const given = {
    id: 'evt_AbC',
    data: { a: address, text: `of ${address}, too`, list: [address, solana], hash, n: 1.5 },
  }
  expect(read(altered(given, { kind: 'case-flip' }))).toEqual({
    id: 'evt_AbC',
    data: { a: flipped, text: `of ${flipped}, too`, list: [flipped, solana], hash, n: 1.5 },
  })
  for (const sample of samples) {
    const text = altered(sample, { kind: 'case-flip' }).toString()
    expect(text.toLowerCase()).toBe(serialize(sample).toString().toLowerCase())
  }
})

test.each(serializerProfiles)('R73 reserialise writes the same event in the profile %s', (profile) => {
  for (const sample of samples) {
    const bytes = altered(sample, { kind: 'reserialise', profile })
    expect(bytes.equals(serialize(sample, profile))).toBe(true)
    expect(read(bytes)).toEqual(sample)
  }
})

test.each([...serializerProfiles])('2.8 huge has exactly the size that was asked for, in the profile %s', (profile) => {
  const bytes = altered(trade, { kind: 'huge', bytes: 1_500_000 }, { kind: 'reserialise', profile })
  expect(bytes).toHaveLength(1_500_000)
  const { padding, ...data } = read(bytes).data
  expect({ ...read(bytes), data }).toEqual(trade)
  expect(padding).toMatch(/^x+$/)
})

test('2.8 huge leaves larger bodies unchanged', () => {
  expect(altered(trade, { kind: 'huge', bytes: 10 })).toEqual(serialize(trade))
})

test('a body that is no JSON object stays as it is', () => {
  const faults = createFaults({ seed: 'body' })
  for (const kind of ['huge', 'extra-fields'] as const) {
    faults.add(faultRuleSchema.parse({ direction: 'out', fault: { kind } }))
  }
  const plan = faults.planAttempt(
    { deliveryId: 'dlv_a', endpointId: 'a', url: 'http://a/', eventId: 'b', eventType: 'c' },
    1,
  )
  for (const text of ['[1]', 'null', 'no JSON', '']) expect(plan.alter(Buffer.from(text)).toString()).toBe(text)
})
