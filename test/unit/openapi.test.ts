import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { toAsyncApi } from '../../schema/asyncapi.ts'
import { eventTypes, parseEvent } from '../../schema/index.ts'
import { toOpenApi } from '../../schema/openapi.ts'
import { components } from '../../schema/rest/components.ts'
import { fieldsOf, operationsOf, resolve, visit, type Json } from '../support/api-document.ts'
import { createJudge } from '../support/openapi-document.ts'

const readDocument = (name: string) => JSON.parse(readFileSync(`schema/${name}.json`, 'utf8')) as Json
const [openapi, asyncapi] = [readDocument('openapi'), readDocument('asyncapi')]
const operations = operationsOf(openapi)

const problemsOf = createJudge(openapi)

test.each([
  ['openapi', openapi, toOpenApi],
  ['asyncapi', asyncapi, toAsyncApi],
] as const)('%s.json is generated from its sources', (_name, document, generate) => {
  expect(JSON.parse(JSON.stringify(generate()))).toEqual(document)
})

describe('the OpenAPI document', () => {
  /** The operations in the spec. */
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
  const operationOf = (name: string) => operations.find((operation) => operation.name === name)!.value

  test('R2 has all operations of the spec, and marks all others', () => {
    const names = operations.map(({ name }) => name)
    expect(names.toSorted()).toEqual([...documented, ...added, ...undocumented].toSorted())
    const marked = (mark: string) => names.filter((name) => operationOf(name)['x-assumption']?.includes(mark))
    expect(marked('A22').toSorted()).toEqual(added.toSorted())
    expect(marked('A2')).toEqual(undocumented)
  })

  test('R8 R10 R117 R118 R119 every response has its headers, and either data or error', () => {
    const three = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
    const extra: Record<string, string> = { 401: 'WWW-Authenticate', 429: 'Retry-After', 503: 'Retry-After' }
    for (const { name, value } of operations) {
      for (const [status, answer] of Object.entries(value['responses'] as Json)) {
        const { headers, content } = resolve(openapi, answer)
        for (const header of [...three, ...(extra[status] === undefined ? [] : [extra[status]])]) {
          expect(resolve(openapi, headers[header] ?? {})['required'], `${name} ${status} ${header}`).toBe(true)
        }
        const isSuccess = status.startsWith('2')
        const schema = resolve(openapi, content['application/json'].schema)
        expect(schema['properties'].success.const, name).toBe(isSuccess)
        expect(fieldsOf(schema), name).toEqual(['success*', isSuccess ? 'data*' : 'error*', 'meta*'])
      }
    }
  })

  test('R106 every operation can fail with 400, 401, 429 and 500, wallet operations also with 404 and 503', () => {
    for (const name of [...documented, ...added]) {
      const expected = ['400', '401', '429', '500', ...(name.startsWith('GET /wallets/') ? ['404', '503'] : [])]
      expect(Object.keys(operationOf(name)['responses']), name).toEqual(expect.arrayContaining(expected))
    }
  })

  test('every example matches its schema', () => {
    const seen = visit(openapi, (value, path) => {
      const pointer = path.join('/')
      if (Array.isArray(value['examples']) && path[1] === 'schemas') {
        for (const example of value['examples']) expect(problemsOf(value, example), pointer).toEqual([])
        return value['examples'].length
      }
      if (!Object.hasOwn(value, 'example') || value['schema'] === undefined) return 0
      expect(problemsOf(value['schema'], value['example']), pointer).toEqual([])
      return 1
    })
    expect(seen).toBeGreaterThan(100)
  })

  test('R78 each event type is a signed webhook, acknowledged by any 2xx', () => {
    expect(Object.keys(openapi['webhooks'])).toEqual(eventTypes)
    for (const [type, { post }] of Object.entries(openapi['webhooks'] as Json)) {
      expect(post.requestBody.content['application/json'].example.type).toBe(type)
      const signature = resolve(openapi, post.parameters[0])
      expect(signature).toMatchObject({ name: 'X-Service-Signature', in: 'header', required: true })
      expect(Object.keys(post.responses)).toEqual(['401', '2XX', 'default'])
      expect(post.security).toEqual([])
    }
  })

  test('R20 R125 PnL is spelt with a z, positions with an s, and unknown members are allowed', () => {
    const { schemas } = openapi['components']
    expect(JSON.stringify(schemas.PnlSummary.properties)).not.toContain('realised')
    expect(JSON.stringify(schemas.Position.properties)).not.toContain('unrealized')
    for (const [name, schema] of Object.entries(schemas as Json)) {
      const [example] = schema.examples ?? []
      if (example !== undefined) expect(problemsOf(schema, { ...example, not_documented: [1] }), name).toEqual([])
    }
  })
})

describe('request bodies, in zod and in the document', () => {
  const alert = openapi['components'].schemas.NewAlert.examples[0] as Json
  const webhook = openapi['components'].schemas.NewWebhook.examples[0] as Json

  function expectVerdict(name: 'NewAlert' | 'NewWebhook' | 'WebhookChange', value: Json, isValid: boolean): void {
    const inDocument = problemsOf(openapi['components'].schemas[name], value).length === 0
    expect([components[name].safeParse(value).success, inDocument], JSON.stringify(value)).toEqual([isValid, isValid])
  }

  test.each([
    ['R4', 'network', 'tron', false],
    ['R32', 'type', 'price_equal', false],
    ['R33', 'address', '7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU', true],
    ['R33', 'address', '0x12', false],
    ['A64', 'threshold', 0, false],
    ['A64', 'threshold', -1, false],
    ['R34 A64', 'threshold', 1e-12, true],
    ['A64', 'label', '🦊'.repeat(100), true],
    ['A64', 'label', '🦊'.repeat(101), false],
    ['A64', 'label', '', true],
    ['R125', 'color', 'red', true],
  ])('%s a new alert with %s %j is valid: %s', (_number, field, value, isValid) => {
    expectVerdict('NewAlert', { ...alert, [field]: value }, isValid)
  })

  const validUrls = [
    'https://example.com',
    'https://[2001:db8::1]/',
    'http://127.0.0.1:8080/webhooks',
    'http://localhost',
    'http://[::1]:3000/x',
    'HTTPS://A',
  ]
  const invalidUrls = [
    'http://example.com',
    'http://localhost.example.com/',
    'http://10.0.0.1',
    'https://user:secret@example.com/',
    'http://localhost@example.com/',
    'ftp://example.com',
    '/webhooks',
    '',
    'https://',
    'https://example.com/#part',
    'https://example.com:99999',
    `https://example.com/${'x'.repeat(2048)}`,
  ]
  test.each([...validUrls.map((url) => [url, true] as const), ...invalidUrls.map((url) => [url, false] as const)])(
    'A25 the URL %j is valid: %s',
    (url, isValid) => {
      expectVerdict('NewWebhook', { ...webhook, url }, isValid)
      expectVerdict('NewAlert', { ...alert, webhook_url: url }, isValid)
    },
  )

  test.each<[string, unknown, boolean]>([
    ['all types', [...eventTypes], true],
    ['the wildcard', ['*'], true],
    ['no type', [], false],
    ['the undocumented type of an alert (A41)', ['token.volume_spike'], true],
    ['an unknown type', ['token.volume_spikes'], false],
    ['the wildcard and a type', ['*', 'token.price_alert'], false],
    ['the wildcard twice', ['*', '*'], false],
    ['a type twice', ['pump.graduation', 'pump.graduation'], false],
    ['text', '*', false],
  ])('R61 A23 events with %s', (_what, events, isValid) => {
    expectVerdict('NewWebhook', { ...webhook, events }, isValid)
    expectVerdict('WebhookChange', { events }, isValid)
  })

  test.each([
    ['whsec_ü 🦊 123456', true],
    ['whsec_ü 🦊 12345', false],
    [1, false],
    ['x'.repeat(257), false],
  ])('R77 A30 A69 the secret %j is valid: %s', (secret, isValid) => {
    expectVerdict('NewWebhook', { ...webhook, secret }, isValid)
  })

  test('A30 a secret is well-formed Unicode, which JSON Schema cannot express', () => {
    expect(components.NewWebhook.safeParse({ ...webhook, secret: '\ud800 and 16 more characters' }).success).toBe(false)
  })

  test('R91 a change of a webhook needs at least one of its members', () => {
    expectVerdict('WebhookChange', {}, false)
    expectVerdict('WebhookChange', { event: ['*'] }, false)
    expectVerdict('WebhookChange', { secret: 'a new one, a new one' }, true)
  })
})

const messageOf = (type: string) => resolve(asyncapi, asyncapi['channels'].webhook.messages[type])
const problemsAt = createJudge(asyncapi)

test('R3 R78 the AsyncAPI document has one operation, an HTTP POST of all types to a webhook', () => {
  const { sendEvent, ...others } = asyncapi['operations']
  expect(others).toEqual({})
  expect([sendEvent.action, sendEvent.bindings.http.method]).toEqual(['send', 'POST'])
  expect(sendEvent.channel.$ref).toBe('#/channels/webhook')
  const sent = sendEvent.messages.map((message: Json) => resolve(asyncapi, resolve(asyncapi, message))['name'])
  expect(sent).toEqual(eventTypes)
})

test.each(eventTypes)(
  'R71 R72 R92 the AsyncAPI document: %s has a signed example that the receiver accepts',
  (type) => {
    const { headers, payload, examples } = messageOf(type)
    const [example] = examples
    expect(problemsAt(headers, example.headers)).toEqual([])
    expect(problemsAt(payload, example.payload)).toEqual([])
    expect(parseEvent(example.payload).type).toBe(type)
    expect(problemsAt(payload, { ...example.payload, data: {} })).not.toEqual([])
    expect(problemsAt(headers, { ...example.headers, 'X-Service-Signature': 'sha256=00' })).not.toEqual([])
    expect(problemsAt(headers, { 'Content-Type': 'application/json' })).not.toEqual([])
  },
)
