import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eventTypes } from '../../schema/index.ts'
import { formatEvent, formatUsd } from '../../src/dispatch/format.ts'
import { eventSamples } from '../fixtures/event-samples.ts'

// eslint-disable-next-line no-control-regex
const unsafe = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/
const odd = fc.oneof(
  fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true, withSparseArray: true }),
  fc.string({ unit: 'binary', maxLength: 500 }),
  fc.double(),
)

function expectSafeLine(line: string): void {
  expect(line).not.toMatch(unsafe)
  expect(line.isWellFormed()).toBe(true)
  expect(line.length).toBeLessThan(1000)
}

describe('formatEvent', () => {
  it('R125: makes one safe line of any documented event with odd fields', () => {
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
        expectSafeLine(formatEvent({ ...sample, data: { ...sample.data, ...changes } } as never))
      }),
      { numRuns: 1000 },
    )
  })

  it('R127: makes one safe line of anything at all', () => {
    const event = fc.oneof(
      odd,
      fc.record({
        id: odd,
        type: fc.oneof(odd, fc.constantFrom(...eventTypes)),
        created_at: odd,
        data: fc.oneof(odd, fc.dictionary(fc.string(), odd)),
      }),
    )
    fc.assert(
      fc.property(event, (value) => expectSafeLine(formatEvent(value as never))),
      { numRuns: 1000 },
    )
  })
})

describe('formatUsd', () => {
  it('never writes an exponent below 10^15, and stays within half a unit of the last place shown', () => {
    const amount = fc.double({ min: 1e-18, max: 1e14, noNaN: true })
    fc.assert(
      fc.property(amount, (value) => {
        const text = formatUsd(value)
        expect(text).toMatch(/^\$[\d,]+\.\d{2,}$/)
        const shown = Number(text.replaceAll(/[$,]/g, ''))
        // What is shown is read back as the nearest double, which may lie beside it.
        const tolerance = value < 1 ? value * 0.0005 : 0.0051 + value * Number.EPSILON
        expect(Math.abs(shown - value)).toBeLessThanOrEqual(tolerance)
        expect(formatUsd(-value)).toBe(`-${text}`)
      }),
    )
  })
})
