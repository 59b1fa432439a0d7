import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { default as addFormats } from 'ajv-formats'
import { expect, test } from 'vitest'
import { networkIds, eventTypes } from '../../schema/index.ts'
import { toOpenApi } from '../../schema/openapi.ts'
import { fieldsOf, operationsOf, resolve, visit, type Json } from '../support/api-document.ts'

const text = readFileSync('schema/openapi.json', 'utf8')
const document = JSON.parse(text) as Json
const operations = operationsOf(document)

const ajv = new Ajv2020({ allErrors: true, strict: false })
addFormats.default(ajv)
ajv.addSchema({ ...document, $id: 'openapi' })
const check = (pointer: string, value: unknown) => {
  const validate = ajv.compile({ $ref: `openapi#${pointer}` })
  validate(value)
  return validate.errors ?? []
}
const escape = (part: string) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))

/** The operations of the service's own description, written down here a second time. */
const documented = [
  'GET /wallets/{address}',
  'GET /wallets/{address}/portfolio',
  'GET /wallets/{address}/pnl',
  'GET /wallets/{address}/trades',
  'POST /alerts',
  'GET /networks',
  'POST /webhooks',
  'GET /tokens/{address}',
  'GET /tokens/search',
]
const added = [
  'GET /alerts',
  'GET /alerts/{alert_id}',
  'DELETE /alerts/{alert_id}',
  'GET /webhooks',
  'GET /webhooks/{webhook_id}',
  'PATCH /webhooks/{webhook_id}',
  'DELETE /webhooks/{webhook_id}',
]
const undocumented = ['GET /contracts/{address}', 'GET /liquidity/{address}', 'GET /trending']

test('the document is what its sources give, twice the same', () => {
  expect(JSON.parse(JSON.stringify(toOpenApi()))).toEqual(document)
  expect(JSON.stringify(toOpenApi())).toBe(JSON.stringify(toOpenApi()))
  expect(document['openapi']).toMatch(/^3\.1\./)
})

test('R2 every operation of the service is there, and beside it only what is marked as added or undocumented', () => {
  expect(operations.map(({ name }) => name).toSorted()).toEqual([...documented, ...added, ...undocumented].toSorted())
  const withMark = (mark: string) => operations.filter(({ value }) => value['x-assumption']?.includes(mark))
  expect(withMark('A22').map(({ name }) => name)).toEqual(expect.arrayContaining(added))
  expect(withMark('A22')).toHaveLength(added.length)
  expect(withMark('A2').map(({ name }) => name)).toEqual(undocumented)
})

const answers = operations.flatMap(({ name, value }) =>
  Object.entries(value['responses'] as Json).map(([status, answer]) => ({ name: `${name} ${status}`, status, answer })),
)

test('R117 R118 R119 every answer has the three rate limit headers, and those that its status calls for', () => {
  const three = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
  const extra: Record<string, string> = { 401: 'WWW-Authenticate', 429: 'Retry-After', 503: 'Retry-After' }
  expect(answers.length).toBeGreaterThan(100)
  for (const { name, status, answer } of answers) {
    const { headers } = resolve(document, answer)
    for (const header of [...three, ...(extra[status] === undefined ? [] : [extra[status]])]) {
      expect(resolve(document, headers[header] ?? {})['required'], `${name} ${header}`).toBe(true)
    }
  }
})

test('R8 R10 every failure has error in place of data, and no success has error', () => {
  for (const { name, status, answer } of answers) {
    const { schema } = resolve(document, answer)['content']['application/json']
    const { properties, required } = resolve(document, schema)
    const isSuccess = status.startsWith('2')
    expect(properties['success'].const, name).toBe(isSuccess)
    expect(required, name).toEqual(['success', isSuccess ? 'data' : 'error', 'meta'])
    expect(Object.keys(properties), name).toEqual(required)
  }
})

test('R106 every operation can fail with 400, 401, 429 and 500, a wallet that was never seen with 404, a network with 503', () => {
  for (const { name, value } of operations.filter((one) => !undocumented.includes(one.name))) {
    expect(Object.keys(value['responses']), name).toEqual(expect.arrayContaining(['400', '401', '429', '500']))
    const isOfWallet = name.startsWith('GET /wallets/')
    if (isOfWallet) expect(value['responses']).toMatchObject({ 404: expect.anything(), 503: expect.anything() })
  }
})

test('R12 R14 meta has the network for overview and PnL, and the members of a page for lists', () => {
  const metaOf = (name: string) => {
    const success = Object.entries(operations.find((one) => one.name === name)!.value['responses'] as Json)[0]![1]
    return fieldsOf(resolve(document, success.content['application/json'].schema.properties.meta))
  }
  const network = ['timestamp*', 'network*', 'latency_ms*']
  const page = ['timestamp*', 'next_cursor', 'limit*', 'total*', 'latency_ms']
  expect(metaOf('GET /wallets/{address}')).toEqual(network)
  expect(metaOf('GET /wallets/{address}/pnl')).toEqual(network)
  expect(metaOf('GET /wallets/{address}/portfolio')).toEqual(page)
  expect(metaOf('GET /wallets/{address}/trades')).toEqual(page)
  expect(metaOf('GET /tokens/search')).toEqual(page)
  expect(metaOf('POST /alerts')).toEqual(['timestamp*', 'latency_ms*'])
  expect(metaOf('GET /networks')).toEqual(['timestamp*', 'latency_ms*'])
})

test('R114 limit is 1 to 100 and 20 by default, R54 timeframe one of four and 30d by default', () => {
  const schemaOf = (name: string, parameter: string) =>
    operations.find((one) => one.name === name)!.value['parameters'].find((one: Json) => one['name'] === parameter)
      .schema
  expect(schemaOf('GET /wallets/{address}/trades', 'limit')).toEqual({
    type: 'integer',
    minimum: 1,
    maximum: 100,
    default: 20,
  })
  expect(schemaOf('GET /wallets/{address}/pnl', 'timeframe')).toEqual({
    type: 'string',
    enum: ['24h', '7d', '30d', 'all'],
    default: '30d',
  })
  expect(schemaOf('GET /wallets/{address}', 'network').enum).toEqual(networkIds)
})

test('every example of a body, an answer, a parameter or a schema fits its schema', () => {
  const seen = visit(document, (value, path) => {
    const pointer = path.map((part) => `/${escape(part)}`).join('')
    if (Array.isArray(value['examples']) && path[1] === 'schemas') {
      for (const example of value['examples']) expect(check(pointer, example), pointer).toEqual([])
      return value['examples'].length
    }
    if (!Object.hasOwn(value, 'example') || value['schema'] === undefined) return 0
    expect(check(`${pointer}/schema`, value['example']), pointer).toEqual([])
    return 1
  })
  expect(seen).toBeGreaterThan(100)
})

test('R78 each event type is a webhook: its own schema, signed, answered with any 2xx', () => {
  expect(Object.keys(document['webhooks'])).toEqual(eventTypes)
  for (const [type, { post }] of Object.entries(document['webhooks'] as Json)) {
    expect(post.requestBody.content['application/json'].example.type).toBe(type)
    const signature = resolve(document, post.parameters[0])
    expect(signature).toMatchObject({ name: 'X-Service-Signature', in: 'header', required: true })
    expect(Object.keys(post.responses)).toEqual(['401', '2XX', 'default'])
    expect(post.security).toEqual([])
  }
})

test('assumptions are lists of their numbers without repeats, wherever they stand', () => {
  const seen = visit(document, (value) => {
    if (!Object.hasOwn(value, 'x-assumption')) return 0
    const list = value['x-assumption'] as string[]
    expect([list.length > 0, new Set(list).size]).toEqual([true, list.length])
    for (const mark of list) expect(mark).toMatch(/^A\d+$/)
    return 1
  })
  expect(seen).toBeGreaterThan(150)
})
