import { expect, it } from 'vitest'
import { toHandlerEvent } from '../../src/dispatch/context.ts'
import type { StoredEvent } from '../../src/inbox/port.ts'

function stored(text: string): StoredEvent {
  // A view into a larger buffer, like the events that the store's thread sends.
  const around = Buffer.from(`before${text}after`)
  const raw = new Uint8Array(around.buffer, around.byteOffset + 6, around.length - 11)
  return {
    seq: 1,
    id: 'evt_1',
    type: 'wallet.large_trade',
    createdAt: '',
    receivedAt: 0,
    key: 'evt_1',
    secretLabel: 'main',
    raw,
  }
}

const text =
  '{"id":"evt_1", "type":"wallet.large_trade","created_at":"2026-01-31T14:03:22.123Z",' +
  '"data":{"amount_usd":0.1000,"raw_amount":18446744073709551615,"symbol":"PEPE ☕"}}'

it('the event that a handler gets is the parsed envelope', () => {
  expect({ ...toHandlerEvent(stored(text)) }).toEqual(JSON.parse(text))
})

it('the event that a handler gets carries the exact bytes and the exact numbers', () => {
  const source = stored(text)
  const event = toHandlerEvent(source)
  expect(Buffer.from(event.raw)).toEqual(Buffer.from(text))
  expect(event.exact('data.amount_usd')).toBe('0.1000')
  expect(event.exact('data.raw_amount')).toBe('18446744073709551615')
  expect(event.exact('data.nothing')).toBeUndefined()
})

it('the event that a handler gets hides `raw` and `exact` from serialization', () => {
  const event = toHandlerEvent(stored(text))
  expect(JSON.stringify(event)).toBe(JSON.stringify(JSON.parse(text)))
  expect(Object.keys(event)).toEqual(['id', 'type', 'created_at', 'data'])
  expect(structuredClone(event)).toEqual(JSON.parse(text))
})

it('the event that a handler gets overrides payload members named raw and exact', () => {
  const withMembers = '{"id":"evt_1","type":"x","created_at":"","data":{},"raw":"sent","exact":"sent too"}'
  const event = toHandlerEvent(stored(withMembers))
  expect(Buffer.from(event.raw).toString()).toBe(withMembers)
  expect(event.exact('raw')).toBe('sent')
  expect(JSON.stringify(event)).not.toContain('"0":')
})

it('the event that a handler gets names its source', () => {
  const { source, uid, createdAt } = toHandlerEvent({ ...stored(text), createdAt: '2026-01-31T14:03:22.123Z' })
  expect([source, uid, createdAt]).toEqual(['default', 'evt_1', '2026-01-31T14:03:22.123Z'])
})

it('the event that a handler gets from another source has the body as data', () => {
  const body = '[{"amount":0.1000}]'
  const event = toHandlerEvent({
    ...stored(body),
    id: 'desk/a/1',
    type: 'fill',
    createdAt: '2026-01-31T14:03:22.123Z',
    secretLabel: 'desk/main',
  })
  expect({ ...event }).toEqual({
    id: 'a/1',
    type: 'fill',
    created_at: '2026-01-31T14:03:22.123Z',
    data: [{ amount: 0.1 }],
  })
  expect([event.source, event.uid, event.createdAt]).toEqual(['desk', 'desk/a/1', '2026-01-31T14:03:22.123Z'])
  expect(Buffer.from(event.raw).toString()).toBe(body)
  expect(event.exact('data.0.amount')).toBe('0.1000')
})
