import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'

/** Inflates a body if it is gzipped. Returns an error code if it is too large or damaged. Never rejects. */
export type Inflater = (
  raw: Uint8Array,
  headers: IncomingHttpHeaders,
) => Promise<Uint8Array | 'body_too_large' | 'bad_request' | 'overloaded'>

const inflateAll = promisify(gunzip)
/** Maximum bytes that all waiting bodies may become: about half a second of work. */
const maxWaitingBytes = 64 * 1024 * 1024

/** `limitBytes`: maximum inflated size. Inflates one body at a time, because a small body can become large before it is verified. */
export function createInflater(limitBytes: number): Inflater {
  const maxWaiting = Math.max(2, Math.floor(maxWaitingBytes / limitBytes))
  let previous: Promise<unknown> = Promise.resolve()
  let waiting = 0
  return (raw, headers) => {
    if (!isGzip(raw, headers)) return Promise.resolve(raw)
    if (waiting >= maxWaiting) return Promise.resolve('overloaded')
    waiting++
    const inflated = previous.then(async () => {
      try {
        return await inflateAll(raw, { maxOutputLength: limitBytes })
      } catch (error) {
        return error instanceof RangeError ? 'body_too_large' : 'bad_request'
      } finally {
        waiting--
      }
    })
    previous = inflated
    return inflated
  }
}

/** A framework may have inflated the body without removing the header. */
function isGzip(raw: Uint8Array, headers: IncomingHttpHeaders): boolean {
  return headers['content-encoding']?.toLowerCase() === 'gzip' && raw[0] === 0x1f && raw[1] === 0x8b
}
