import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { default as addFormats } from 'ajv-formats'
import { expect, it, test, describe } from 'vitest'
import { eventTypes } from '../../schema/index.ts'
import { components } from '../../schema/rest/components.ts'
import type { Json } from '../support/api-document.ts'

const document = JSON.parse(readFileSync('schema/openapi.json', 'utf8')) as Json
const { schemas } = document['components']

const ajv = new Ajv2020({ allErrors: true, strict: false })
addFormats.default(ajv)
ajv.addSchema({ ...document, $id: 'openapi' })
const fitsDocument = (name: string, value: unknown) =>
  ajv.validate({ $ref: `openapi#/components/schemas/${name}` }, value)
/** Results of the schemas in code and in the document, which must be equal. */
const verdicts = (name: keyof typeof components, value: unknown) => [
  components[name].safeParse(value).success,
  fitsDocument(name, value),
]

test('R20 R125 PnL is spelled with z, positions with s, and answers may have unknown members', () => {
  expect(JSON.stringify(schemas.PnlSummary.properties)).not.toContain('realised')
  expect(JSON.stringify(schemas.Position.properties)).not.toContain('unrealized')
  for (const [name, { examples }] of Object.entries(schemas as Json)) {
    if (examples === undefined) continue
    expect(fitsDocument(name, { ...examples[0], not_documented: [1] }), name).toBe(true)
  }
})

describe('bodies', () => {
  const alert = schemas.NewAlert.examples[0] as Json
  const webhook = schemas.NewWebhook.examples[0] as Json

  it('R57 a new alert needs all fields except the label, with their types', () => {
    expect(verdicts('NewAlert', alert)).toEqual([true, true])
    for (const field of Object.keys(alert)) {
      const { [field]: _gone, ...rest } = alert
      expect(verdicts('NewAlert', rest), field).toEqual(field === 'label' ? [true, true] : [false, false])
      expect(verdicts('NewAlert', { ...alert, [field]: [] }), field).toEqual([false, false])
      expect(verdicts('NewAlert', { ...alert, [field]: null }), field).toEqual([false, false])
    }
  })

  it.each([
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
  ])('%s a new alert with %s %j is valid: %s', (_number, field, value, verdict) => {
    expect(verdicts('NewAlert', { ...alert, [field]: value })).toEqual([verdict, verdict])
  })

  it.each([
    'https://example.com',
    'https://example.com:8443/a/b?c=%20',
    'https://[2001:db8::1]/',
    'https://10.0.0.1/',
    'http://127.0.0.1:8080/webhooks',
    'http://localhost',
    'http://[::1]:3000/x',
    'HTTPS://A',
    'hTTp://LOCALHOST:3000/x',
  ])('A25 the webhook URL %j is valid', (url) => {
    expect(verdicts('NewWebhook', { ...webhook, url })).toEqual([true, true])
    expect(verdicts('NewAlert', { ...alert, webhook_url: url })).toEqual([true, true])
  })
  it.each([
    'http://example.com',
    'http://localhost.example.com/',
    'http://127.0.0.1.example.com',
    'http://10.0.0.1',
    'https://user:secret@example.com/',
    'http://localhost@example.com/',
    'ftp://example.com',
    'HTTP://example.com',
    '/webhooks',
    '',
    'https://',
    'https://exa mple.com',
    'https://example.com/#part',
    'https://example.com:99999',
    `https://example.com/${'x'.repeat(2048)}`,
  ])('A25 the webhook URL %j is invalid', (url) => {
    expect(verdicts('NewWebhook', { ...webhook, url })).toEqual([false, false])
    expect(verdicts('NewAlert', { ...alert, webhook_url: url })).toEqual([false, false])
  })

  it.each([
    ['every type', [...eventTypes], true],
    ['the wildcard', ['*'], true],
    ['no type', [], false],
    ['the undocumented type of an alert (A41)', ['token.volume_spike'], true],
    ['an unknown type', ['token.volume_spikes'], false],
    ['the wildcard with a type', ['*', 'token.price_alert'], false],
    ['the wildcard twice', ['*', '*'], false],
    ['a type twice', ['pump.graduation', 'pump.graduation'], false],
    ['text', '*', false],
  ])('R61 A23 events with %s', (_what, events, verdict) => {
    expect(verdicts('NewWebhook', { ...webhook, events })).toEqual([verdict, verdict])
    expect(verdicts('WebhookChange', { events })).toEqual([verdict, verdict])
  })

  it('R77 A30 A69 a secret is optional text of 16 to 256 characters', () => {
    for (const [secret, verdict] of [
      ['whsec_ü 🦊 123456', true],
      ['whsec_ü 🦊 12345', false],
      [1, false],
      ['x'.repeat(257), false],
    ] as const) {
      expect(verdicts('NewWebhook', { ...webhook, secret }), String(secret)).toEqual([verdict, verdict])
    }
    expect(components.NewWebhook.safeParse({ ...webhook, secret: '\ud800' }).success).toBe(false)
  })

  it('R91 a change of a webhook needs at least one member', () => {
    expect(verdicts('WebhookChange', {})).toEqual([false, false])
    expect(verdicts('WebhookChange', { event: ['*'] })).toEqual([false, false])
    expect(verdicts('WebhookChange', { secret: 'a new one, a new one' })).toEqual([true, true])
  })
})
