import type { SinkItem } from 'onchain-inbox'
import { attributeText } from './body.ts'

export interface PostedBody {
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

type Reviver = (key: string, value: unknown, context: { readonly source?: string }) => unknown

const parse = JSON.parse as (text: string, reviver: Reviver) => unknown
const { rawJSON } = JSON as unknown as { readonly rawJSON: (text: string) => object }

/** Of what a handler enqueued, whatever event it is about. */
const itemType = 'onchain-inbox.item'

/** An item as a CloudEvent 1.0 in structured mode: one JSON object. Every number keeps the digits that the sender wrote. */
export function toStructured(item: SinkItem, source: string): PostedBody {
  const event = { specversion: '1.0', ...attributesOf(item, source), data: dataOf(item) }
  return { headers: { 'Content-Type': 'application/cloudevents+json' }, body: encode(event) }
}

/** The same in binary mode: the attributes are headers, the body is the data. */
export function toBinary(item: SinkItem, source: string): PostedBody {
  const { datacontenttype, ...attributes } = attributesOf(item, source)
  const headers = Object.entries(attributes).map(([name, value]) => [`ce-${name}`, attributeText(value)])
  return {
    headers: { 'Content-Type': datacontenttype, 'ce-specversion': '1.0', ...Object.fromEntries(headers) },
    body: encode(dataOf(item)),
  }
}

function attributesOf({ event, key, payload, idempotencyKey }: SinkItem, source: string) {
  const isItem = payload !== undefined
  return {
    id: isItem ? idempotencyKey : event.id,
    source,
    type: isItem ? itemType : event.type,
    ...(key !== null && { subject: key }),
    time: event.created_at,
    datacontenttype: 'application/json',
  }
}

function dataOf({ event, payload }: SinkItem): unknown {
  if (payload !== undefined) return payload
  const text = new TextDecoder().decode(event.raw)
  const exact = parse(text, (_key, value, { source }) =>
    typeof value === 'number' && source !== undefined ? rawJSON(source) : value,
  )
  return (exact as { readonly data: unknown }).data
}

function encode(value: unknown): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(value))
}
