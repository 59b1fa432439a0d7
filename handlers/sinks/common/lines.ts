import type { SinkItem } from 'onchain-inbox'
import { bodyOf } from './body.ts'

const newline = 0x0a
const carriageReturn = 0x0d
const space = 0x20

/**
 * JSON text on one line, with its newline. Line breaks stand only between the tokens of JSON, never in a string, so each becomes a
 * space; every other byte stays as it came.
 */
export function toLine(json: Uint8Array): Buffer {
  const line = Buffer.allocUnsafe(json.length + 1)
  line.set(json)
  for (let at = 0; at < json.length; at++) if (line[at] === newline || line[at] === carriageReturn) line[at] = space
  line[json.length] = newline
  return line
}

/** What the inbox knows of an item, with the item in it: the event, or what a handler enqueued. */
export function withReceipt(item: SinkItem): Uint8Array {
  const { id, key, secretLabel, attempt, idempotencyKey, event } = item
  const receipt = JSON.stringify({
    item_id: id,
    event_id: event.id,
    key,
    secret_label: secretLabel,
    attempt,
    idempotency_key: idempotencyKey,
  })
  const member = item.payload === undefined ? 'event' : 'payload'
  return Buffer.concat([Buffer.from(`${receipt.slice(0, -1)},"${member}":`), bodyOf(item), Buffer.from('}')])
}
