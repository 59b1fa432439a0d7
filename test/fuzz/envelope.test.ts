import { isUtf8 } from 'node:buffer'
import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { envelopeSchema } from '../../schema/envelope.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { silentLogger } from '../../src/base/log.ts'
import { readEnvelope, keyOf } from '../../src/receiver/envelope.ts'
import { createIngest } from '../../src/receiver/ingest.ts'
import { parseSecrets } from '../../src/signature/keys.ts'
import { counts } from '../counts.ts'

const numRuns = counts.envelopeRuns
const maxDepth = 64
const timeout = 300_000

const two = (max: number) => fc.nat(max).map((value) => String(value).padStart(2, '0'))
/** Times that are right, nearly right, or of days that there are not. */
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
  // One byte of a good body is another one.
  fc.tuple(whole, fc.nat(), fc.nat(255)).map(([value, at, byte]) => {
    const bytes = Buffer.from(JSON.stringify(value))
    bytes[at % bytes.length] = byte
    return bytes
  }),
)

/** What `envelopeSchema` says of the same bytes, and the three things it cannot see. */
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
  'R92 readEnvelope never throws, and takes just what the schema takes, but for encoding, byte-order mark and depth',
  { timeout },
  () => {
    let taken = 0
    fc.assert(
      fc.property(body, (raw) => {
        const read = readEnvelope(raw)
        const expected = bySchema(raw)
        expect(read.ok).toBe(expected !== null)
        if (!read.ok || expected === null) return
        taken++
        expect(read.envelope).toStrictEqual(pick(expected))
      }),
      { numRuns },
    )
    // Else it would be about refusals only.
    expect(taken).toBeGreaterThan(numRuns / 20)
  },
)

test('times are taken just as by the schema', () => {
  fc.assert(
    fc.property(time, (createdAt) => {
      const raw = Buffer.from(JSON.stringify({ id: 'evt_1', type: 'a', created_at: createdAt, data: {} }))
      expect(readEnvelope(raw).ok).toBe(envelopeSchema.shape.created_at.safeParse(createdAt).success)
    }),
    { numRuns },
  )
})

test('A9 a key is network:address with one colon between them, in lower case for EVM only, or else the event’s own id', () => {
  const type = fc.constantFrom('token.a', 'wallet.a', 'contract.a', 'pump.graduation', 'pump.a', 'nft.a', 'token', '')
  const evm = fc.stringMatching(/^0x[0-9a-fA-F]{40}$/)
  const address = fc.oneof(evm, fc.stringMatching(/^[1-9A-HJ-NP-Za-km-z]{44}$/), orAnything(text))
  const network = fc.oneof(fc.constantFrom('ethereum', 'solana', 'a:b', ':'), orAnything(text))
  const fields = fc.record(
    { network, token_address: address, wallet_address: address, contract_address: address },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(text, type, fields, (id, type, data) => {
      const { key, network, address } = keyOf({ id, type, data })
      if (network === null || address === null) {
        expect([key, network, address]).toEqual([id, null, null])
        return
      }
      expect(key).toBe(`${network}:${address}`)
      expect(network).not.toContain(':')
      expect(network).toBe(type === 'pump.graduation' ? 'solana' : data.network)
      const { token_address, wallet_address, contract_address } = data
      const family = type.split('.')[0] ?? ''
      const given = { token: token_address, pump: token_address, wallet: wallet_address, contract: contract_address }[
        family
      ]
      expect(address).toBe(
        /^0x[0-9a-f]{40}$/i.test(String(given)) && String(given)[1] === 'x' ? String(given).toLowerCase() : given,
      )
    }),
    { numRuns },
  )
})

test(
  'P2 whatever is not signed by HMAC-SHA256 over its bytes gets 401 and leaves nothing; all else is stored or kept',
  { timeout },
  async () => {
    const secret = 'the-secret-of-the-tests'
    const secrets = parseSecrets(secret)
    const clock = createTestClock()
    const digest = (raw: Uint8Array, key: string) => createHmac('sha256', key).update(raw).digest('hex')
    const signature = (raw: Uint8Array) =>
      fc.oneof(
        fc.constantFrom(
          digest(raw, secret),
          digest(raw, secret).toUpperCase(),
          digest(raw, `${secret} `),
          '',
          undefined,
        ),
        fc.stringMatching(/^[0-9a-f]{64}$/),
        fc.tuple(fc.nat(63), fc.constantFrom('0', 'f', 'g')).map(([at, digit]) => {
          const good = digest(raw, secret)
          return good.slice(0, at) + digit + good.slice(at + 1)
        }),
        fc.uint8Array({ maxLength: 40 }).map((other) => digest(Buffer.concat([raw, other]), secret)),
      )
    const deliveries = body.chain((raw) => fc.tuple(fc.constant(raw), signature(raw)))

    await fc.assert(
      fc.asyncProperty(deliveries, async ([raw, header]) => {
        const inbox = await createMemoryInbox({ clock })
        const ingest = createIngest({
          commits: { add: async (arrival) => (await inbox.accept([arrival]))[0] ?? 'late' },
          secrets: () => secrets,
          clock,
          log: silentLogger,
          observer: { stored() {}, rejected() {}, refused() {} },
          unusableStatus: 200,
        })
        const answer = await ingest(raw, header)
        const isAuthentic = header?.toLowerCase() === digest(raw, secret)
        expect(answer.status).toBe(isAuthentic ? 200 : 401)
        const { lastSeq, quarantined } = await inbox.stats()
        expect(lastSeq + quarantined).toBe(isAuthentic ? 1 : 0)
        expect(lastSeq).toBe(isAuthentic && bySchema(raw) !== null ? 1 : 0)
        expect(() => JSON.parse(answer.body)).not.toThrow()
      }),
      { numRuns },
    )
  },
)

function pick({ id, type, created_at, data }: NonNullable<ReturnType<typeof bySchema>>) {
  return { id, type, created_at, data }
}
