import { createHash } from 'node:crypto'
import type { SinkItem } from 'onchain-inbox'

/** Servers take 8 to 16 KiB of headers in all. */
const longestHeader = 1_000

/** What an item brings: the exact bytes of the event, or as JSON what a handler enqueued. */
export function bodyOf(item: SinkItem): Uint8Array {
  return item.payload === undefined ? item.event.raw : new TextEncoder().encode(JSON.stringify(item.payload))
}

/**
 * Text as a header can hold it: visible ASCII as it is, all else percent-encoded. An id can be any text; what would be longer than
 * a header should be is named by its digest, `sha256-<hex>`.
 */
export function headerText(text: string): string {
  return shortened(/^[!-$&-~]+$/.test(text) ? text : encodeURIComponent(text))
}

/** The same for attributes of CloudEvents, which encode fewer characters: all but visible ASCII, `"` and `%`. */
export function attributeText(text: string): string {
  return shortened(text.replace(/[^!#$&-~]+/g, encodeURIComponent))
}

function shortened(text: string): string {
  return text.length <= longestHeader ? text : `sha256-${createHash('sha256').update(text).digest('hex')}`
}
