import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventTypes, type AnyEvent } from '../../schema/index.ts'
import { describeEvent, formatEvent } from '../../src/dispatch/format.ts'
import { eventSamples } from '../fixtures/event-samples.ts'

// eslint-disable-next-line no-control-regex
const unsafe = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/
const odd = fc.oneof(
  fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true, withSparseArray: true }),
  fc.string({ unit: 'binary', maxLength: 500 }),
  fc.double(),
)

function expectSafe(event: unknown): void {
  const line = formatEvent(event as AnyEvent)
  const { title, network, facts, addresses } = describeEvent(event as AnyEvent)
  expect(line.length).toBeLessThan(1000)
  for (const text of [line, title, network ?? '', ...facts.flat(), ...addresses.flat()]) {
    expect(text).not.toMatch(unsafe)
    expect(text.isWellFormed()).toBe(true)
  }
}

describe('formatEvent and describeEvent', () => {
  it('R125: shows odd fields of any documented event as safe text', () => {
    const drifted = fc.constantFrom(...eventTypes).chain((type) => {
      const fields = Object.keys(eventSamples[type].data)
      return fc.record({
        type: fc.constant(type),
        changes: fc.dictionary(fc.constantFrom(...fields), odd),
      })
    })
    fc.assert(
      fc.property(drifted, ({ type, changes }) => {
        const sample = eventSamples[type]
        expectSafe({ ...sample, data: { ...sample.data, ...changes } })
      }),
      { numRuns: 1000 },
    )
  })

  it('R127: shows anything as safe text', () => {
    const event = fc.oneof(
      odd,
      fc.record({
        id: odd,
        type: fc.oneof(odd, fc.constantFrom(...eventTypes)),
        created_at: odd,
        data: fc.oneof(odd, fc.dictionary(fc.string(), odd)),
      }),
    )
    fc.assert(fc.property(event, expectSafe), { numRuns: 1000 })
  })
})
