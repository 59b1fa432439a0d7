import { base58 } from '@scure/base'
import fc from 'fast-check'
import type { Json } from './api-document.ts'
import type { ApiDocument, DocumentedOperation, DocumentedParameter } from './openapi-document.ts'

/** An address of a network's family, in whatever case is allowed. */
export function addressOf(network: string): fc.Arbitrary<string> {
  if (network === 'solana') {
    return fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => base58.encode(bytes))
  }
  return fc.stringMatching(/^[0-9a-fA-F]{40}$/).map((digits) => `0x${digits}`)
}

const anyText = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 120 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.integer({ min: -10, max: 200 }).map(String),
  fc.double().map(String),
  fc.integer({ min: 1, max: 4_000 }).map((length) => 'x'.repeat(length)),
  fc.constantFrom(
    'null',
    'undefined',
    'NaN',
    'true',
    '[]',
    '{}',
    '__proto__',
    'constructor',
    '*',
    '.',
    '..',
    '/',
    '\\',
  ),
  fc.constantFrom('\u0000', '\r\n', '\u2028', '\ufeff', '\u202e', '💥', 'ﬀ', 'ı', '0', '00', '-0', '+1', '1e2', '0x14'),
)

/** Text as it stands in a target: encoded as it should be, or broken. */
const anyRaw = fc.oneof(
  { weight: 4, arbitrary: anyText.map((text) => encodeURIComponent(text.toWellFormed())) },
  fc.constantFrom('%', '%zz', '%00', '%ff', '%c0%af', '%2f', '%2e%2e', '%u0041', '%0d%0a', '+', '%25zz', '%ed%a0%80'),
)

/** What is written for one parameter; more than one where it comes repeatedly, none where it is missing. */
export interface Written {
  readonly parameter: DocumentedParameter
  readonly raws: readonly string[]
}

/** Every parameter of an operation: as in `good`, or as one of its values, or anything. */
export function anyParameters(
  { parameters }: DocumentedOperation,
  good: Readonly<Record<string, string>>,
): fc.Arbitrary<readonly Written[]> {
  const each = parameters.map((parameter) => {
    const { name, in: place, schema } = parameter
    const known: readonly string[] = [...(schema['enum'] ?? []), ...(good[name] === undefined ? [] : [good[name]])]
    const one = fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...(known.length === 0 ? ['1'] : known)).map(encodeURIComponent) },
      { weight: 2, arbitrary: anyRaw },
    )
    if (place === 'path') return one.filter((raw) => raw !== '').map((raw) => ({ parameter, raws: [raw] }))
    const count = fc.constantFrom(0, 1, 1, 1, 1, 2)
    return count
      .chain((many) => fc.tuple(...Array.from({ length: many }, () => one)))
      .map((raws) => ({ parameter, raws }))
  })
  return fc.tuple(...each)
}

/** The target that an operation has with parameters as they are written. */
export function toTarget({ path }: DocumentedOperation, written: readonly Written[]): string {
  const rawOf = (name: string) => written.find((one) => one.parameter.name === name)?.raws[0] ?? ''
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => rawOf(name))
  const pairs = written.flatMap(({ parameter, raws }) =>
    parameter.in === 'query' ? raws.map((raw) => `${parameter.name}=${raw}`) : [],
  )
  return `/v1${filled}${pairs.length === 0 ? '' : `?${pairs.join('&')}`}`
}

const anyJson = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom(0, -0, -1, 1e308, 5e-324, '', ' ', '*', true, null, [], {}, [[]], ['*', '*'], { toString: 1 }),
  fc.integer({ min: 1, max: 3_000 }).map((length) => 'x'.repeat(length)),
  fc.integer({ min: 1, max: 2_000 }).map((depth) => JSON.parse('['.repeat(depth) + ']'.repeat(depth))),
)

/** A body of which each member is as in `good`, one of its documented values, anything, or missing; others may come along. */
export function anyBody({ members }: DocumentedOperation, good: Json): fc.Arbitrary<Json> {
  const each = members.map(({ name, schema }) => {
    const known: readonly unknown[] = [...(schema['enum'] ?? []), ...(name in good ? [good[name]] : [])]
    const value = fc.oneof({ weight: 10, arbitrary: fc.constantFrom(...known) }, { weight: 1, arbitrary: anyJson })
    return fc.option(
      value.map((given) => [[name, given]] as const),
      { nil: [], freq: 20 },
    )
  })
  const beside = fc.option(
    fc.tuple(fc.constantFrom('__proto__', 'constructor', 'toString', 'status', 'alert_id', 'label '), anyJson),
    { freq: 2 },
  )
  return fc.tuple(fc.tuple(...each), beside).map(([pairs, other]) => {
    return Object.fromEntries([...pairs.flat(), ...(other === null ? [] : [other])])
  })
}

const label = fc.stringMatching(/^[a-z][a-z0-9-]{0,10}$/)
const url = fc
  .tuple(
    fc.oneof(
      fc.array(label, { minLength: 1, maxLength: 4 }).map((names) => `https://${names.join('.')}`),
      fc.constant('http://127.0.0.1'),
    ),
    fc.option(
      fc.integer({ min: 1, max: 65_535 }).map((port) => `:${port}`),
      { nil: '' },
    ),
    fc.stringMatching(/^(\/([\w.~!$&'()*+,;=:@-]|%[0-9a-fA-F]{2}){0,20}){0,4}(\?[\w=&]{0,20})?$/),
  )
  .map((parts) => parts.join(''))
const textFrom = (minLength: number) => fc.string({ unit: 'grapheme-composite', minLength, maxLength: 20 })

/** Bodies that must be taken, of an operation that has one. */
export function rightBody({ members }: DocumentedOperation, networks: readonly string[]): fc.Arbitrary<Json> {
  const optional = members.filter(({ required }) => !required).map(({ name }) => name)
  return fc.constantFrom(...networks).chain((network) => {
    const values: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
      network: fc.constant(network),
      address: addressOf(network),
      threshold: fc.double({ min: 0, minExcluded: true, noNaN: true, noDefaultInfinity: true }),
      webhook_url: url,
      url,
      label: textFrom(1),
      secret: textFrom(16).map((text) => `a${text}z`),
    }
    const each = members.map(({ name, schema }) => [name, values[name] ?? oneOfThose(schema)] as const)
    const requiredKeys = members.map(({ name }) => name).filter((name) => !optional.includes(name) || name === 'url')
    return fc.record(Object.fromEntries(each), { requiredKeys })
  })
}

function oneOfThose(schema: Json): fc.Arbitrary<unknown> {
  if (schema['type'] !== 'array') return fc.constantFrom(...schema['enum'])
  const names: readonly string[] = schema['items']['enum']
  const some = fc.subarray(
    names.filter((name) => name !== '*'),
    { minLength: 1 },
  )
  return fc.oneof(some, fc.constant(['*']))
}

/** The bytes of a JSON text, damaged somewhere. */
export function damaged(text: string): fc.Arbitrary<Buffer> {
  const bytes = Buffer.from(text)
  const place = fc.nat(bytes.length)
  const insert = (what: Buffer) => place.map((at) => Buffer.concat([bytes.subarray(0, at), what, bytes.subarray(at)]))
  const garbage = [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xef, 0xbb, 0xbf], [0], [0x0a], [0x7b], [0x22], [0x5c]]
  return fc.oneof(
    place.map((at) => bytes.subarray(0, at)),
    fc.constantFrom(...garbage).chain((one) => insert(Buffer.from(one))),
    fc
      .constantFrom('NaN', '1e999', '-', '//', ',', '}', '"a":1', "'", '1'.repeat(400))
      .chain((one) => insert(Buffer.from(one))),
    fc.constantFrom('null', '[]', '""', '0', 'true', '{}', '{', ' ', '[{}]').map((one) => Buffer.from(one)),
    fc.integer({ min: 1, max: 30_000 }).map((depth) => Buffer.from('{"url":'.repeat(depth) + '1' + '}'.repeat(depth))),
    fc
      .integer({ min: 60_000, max: 200_000 })
      .map((size) => Buffer.from(text.replace('{', `{"x":"${'x'.repeat(size)}",`))),
    fc.tuple(place, fc.nat(255)).map(([at, byte]) => {
      const changed = Buffer.from(bytes)
      changed[Math.min(at, changed.length - 1)] = byte
      return changed
    }),
    fc.constant(Buffer.from(text.replace(/^\{("[^"]*"):([^,]*)/, '{$1:null,$1:$2'))),
  )
}

/** Whether what is written is what the document allows. */
export function isAllowed(
  document: ApiDocument,
  written: readonly Written[],
  toTyped: (text: string, schema: Json) => unknown,
): boolean {
  return written.every(({ parameter: { required, schema, in: place }, raws }) => {
    const [raw, ...more] = raws
    if (raw === undefined) return !required
    const text = decode(place === 'query' ? raw.replaceAll('+', ' ') : raw)
    return more.length === 0 && text !== null && document.problemsOf(schema, toTyped(text, schema)).length === 0
  })
}

function decode(raw: string): string | null {
  try {
    return decodeURIComponent(raw)
  } catch {
    return null
  }
}
