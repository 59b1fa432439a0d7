import { readFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { default as addFormats } from 'ajv-formats'
import { describe, expect, it, test } from 'vitest'
import { toAsyncApi } from '../../schema/asyncapi.ts'
import { eventTypes, parseEvent } from '../../schema/index.ts'
import { eventSamples } from '../fixtures/event-samples.ts'
import { resolve, type Json } from '../support/api-document.ts'

const document = JSON.parse(readFileSync('schema/asyncapi.json', 'utf8')) as Json
const messageOf = (type: string) => resolve(document, document['channels'].webhook.messages[type])

const ajv = new Ajv2020({ allErrors: true, strict: false })
addFormats.default(ajv)
ajv.addSchema({ ...document, $id: 'asyncapi' })
const passes = (ref: string, value: unknown) => ajv.validate({ $ref: `asyncapi${ref}` }, value)

test('the document is what its sources give, twice the same', () => {
  expect(JSON.parse(JSON.stringify(toAsyncApi()))).toEqual(document)
  expect(JSON.stringify(toAsyncApi())).toBe(JSON.stringify(toAsyncApi()))
  expect(document['asyncapi']).toMatch(/^3\./)
})

test('R3 R78 the service sends every type to a webhook, by HTTP POST', () => {
  const { sendEvent, ...others } = document['operations']
  expect(others).toEqual({})
  expect(sendEvent.action).toBe('send')
  expect(sendEvent.bindings.http.method).toBe('POST')
  expect(sendEvent.channel.$ref).toBe('#/channels/webhook')
  expect(Object.keys(document['channels'].webhook.messages)).toEqual(eventTypes)
  const sent = sendEvent.messages.map((message: Json) => resolve(document, resolve(document, message))['name'])
  expect(sent).toEqual(eventTypes)
})

describe.each(eventTypes)('%s', (type) => {
  const message = messageOf(type)

  it('R92 takes an event of its type, and none of another', () => {
    expect(passes(message['payload'].$ref, eventSamples[type])).toBe(true)
    const other = eventTypes.find((one) => one !== type)!
    expect(passes(message['payload'].$ref, eventSamples[other])).toBe(false)
    expect(passes(message['payload'].$ref, { ...eventSamples[type], data: {} })).toBe(false)
  })

  it('R71 R72 carries the signature, in hex of 64 digits', () => {
    const headers = (signature: string) => ({ 'Content-Type': 'application/json', 'X-Service-Signature': signature })
    expect(passes(message['headers'].$ref, headers('0a'.repeat(32)))).toBe(true)
    expect(passes(message['headers'].$ref, headers('sha256=00'))).toBe(false)
    expect(passes(message['headers'].$ref, { 'Content-Type': 'application/json' })).toBe(false)
  })

  it('has an example that fits, and that the receiver takes', () => {
    expect(message['examples']).toHaveLength(1)
    const [{ headers, payload }] = message['examples']
    expect(passes(message['headers'].$ref, headers)).toBe(true)
    expect(passes(message['payload'].$ref, payload)).toBe(true)
    expect(parseEvent(payload).type).toBe(type)
    expect(payload.id).toMatch(/^evt_[0-9a-hjkmnp-tv-z]{26}$/)
  })
})

test.each([
  ['A34', 'wallet.large_trade'],
  ['A35', 'wallet.pnl_milestone'],
  ['A39', 'contract.liquidity_removed'],
  ['A66', 'token.new_listing'],
  ['A67', 'pump.graduation'],
  ['A68', 'pump.graduation'],
  ['A17', 'token.price_alert'],
])('%s is marked on %s', (mark, type) => {
  expect(messageOf(type)['x-assumption']).toContain(mark)
})

test.each([
  ['A36', 'token.risk_change', 'risk_level'],
  ['A37', 'contract.honeypot_detected', 'honeypot_type'],
  ['A38', 'wallet.large_trade', 'trade_type'],
  ['A10', 'contract.ownership_changed', 'tx_hash'],
  ['A67', 'pump.graduation', 'sol_raised'],
])('%s is marked on the field of %s: %s', (mark, type, field) => {
  const { properties } = resolve(document, messageOf(type)['payload'])
  expect(properties.data.properties[field]['x-assumption']).toContain(mark)
  expect(properties.id['x-assumption']).toEqual(['A40'])
})
