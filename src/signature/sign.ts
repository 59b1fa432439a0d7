import { createHmac } from 'node:crypto'
import type { Secret } from './keys.ts'

/** HMAC-SHA256 of these bytes as 64 lower-case hex digits (R72, A30). The key of a text is its UTF-8 bytes. */
export function sign(raw: Uint8Array, secret: Secret | string): string {
  return createHmac('sha256', typeof secret === 'string' ? secret : secret.key)
    .update(raw)
    .digest('hex')
}
