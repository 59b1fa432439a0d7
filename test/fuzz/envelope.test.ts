import { isUtf8 } from 'node:buffer'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { envelopeSchema } from '../../schema/envelope.ts'
import { readEnvelope } from '../../src/receiver/envelope.ts'
import { counts } from '../counts.ts'

const numRuns = counts.envelopeRuns
const maxDepth = 64
const timeout = 300_000

const two = (max: number) => fc.nat(max).map((value) => String(value).padStart(2, '0'))
/** Valid times, nearly valid ones, and dates that don't exist. */
const time = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .date({ noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01') })
      .map((date) => date.toISOString()),
  },
  fc
    .record({
      date: fc.tuple(fc.constantFrom('2023', '2024', '1900', '2000', '0000'), two(13), two(32)),
      clock: fc.tuple(two(24), two(60), two(61)),
      between: fc.constantFrom('T', 't', ' '),
      fraction: fc.constantFrom('', '.1', '.123456789', '.1234567890', '.'),
      zone: fc.constantFrom('Z', 'z', '+00:00', '-00:00', '+01:00', '', 'Z\n'),
    })
    .map(
      ({ date, clock, between, fraction, zone }) => `${date.join('-')}${between}${clock.join(':')}${fraction}${zone}`,
    ),
)
const text = fc.oneof(
  { weight: 6, arbitrary: fc.string({ minLength: 1, unit: 'grapheme' }) },
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    'evt_1',
    '',
    '\ud800',
    'a\udc00',
    'a'.repeat(255),
    'a'.repeat(256),
    '😀'.repeat(255),
    '😀'.repeat(256),
  ),
)
const nested = fc.integer({ min: maxDepth - 4, max: maxDepth + 4 }).map((levels) => {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = level % 2 === 0 ? [value] : { a: value }
  return { a: value }
})
const data = fc.oneof({ weight: 6, arbitrary: fc.dictionary(fc.string(), fc.jsonValue()) }, nested, fc.jsonValue())
const orAnything = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 9, arbitrary }, fc.jsonValue() as fc.Arbitrary<unknown>)
const envelope = fc.record(
  {
    id: orAnything(text),
    type: orAnything(text),
    created_at: orAnything(time),
    data: orAnything(data),
    more: fc.jsonValue(),
  },
  { requiredKeys: [] },
)
const whole = fc.record({ id: text, type: text, created_at: time, data })

const body = fc.oneof(
  fc.uint8Array({ maxLength: 300 }),
  fc.json().map((json) => Buffer.from(json)),
  envelope.map((value) => Buffer.from(JSON.stringify(value))),
  { weight: 3, arbitrary: whole.map((value) => Buffer.from(JSON.stringify(value))) },
  whole.map((value) => Buffer.from(`\ufeff${JSON.stringify(value)}`)),
  // A valid body with one changed byte.
  fc.tuple(whole, fc.nat(), fc.nat(255)).map(([value, at, byte]) => {
    const bytes = Buffer.from(JSON.stringify(value))
    bytes[at % bytes.length] = byte
    return bytes
  }),
)

/** Result of `envelopeSchema`, and of the three rules that it can't check. */
function bySchema(raw: Uint8Array) {
  if (!isUtf8(raw)) return null
  const text = Buffer.from(raw).toString()
  if (text.startsWith('\ufeff')) return null
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return null
  }
  const parsed = envelopeSchema.safeParse(value)
  if (!parsed.success || depthOf(value) > maxDepth) return null
  // Zod drops members called `__proto__`; the receiver keeps all.
  return { ...parsed.data, data: (value as Record<string, unknown>)['data'] }
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

test(
  'R92 readEnvelope never throws, and accepts exactly what the schema accepts, except for encoding, byte-order mark and depth',
  { timeout },
  () => {
    let accepted = 0
    fc.assert(
      fc.property(body, (raw) => {
        const read = readEnvelope(raw)
        const expected = bySchema(raw)
        expect(typeof read === 'string').toBe(expected === null)
        if (typeof read === 'string' || expected === null) return
        accepted++
        const { id, type, created_at, data } = expected
        expect(read).toStrictEqual({ id, type, created_at, data })
      }),
      { numRuns },
    )
    // Enough samples are valid.
    expect(accepted).toBeGreaterThan(numRuns / 20)
  },
)
