import type { IncomingMessage } from 'node:http'

const pattern = /^Bearer +([\x21-\x7e]+)$/i

/** The API key of a request (R66). */
export type Presented =
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'none' }
  /** Another scheme, no key, a key with spaces, or the header twice. */
  | { readonly kind: 'malformed' }

/** Reads `Authorization: Bearer <API_KEY>`. */
export function readBearer(request: IncomingMessage): Presented {
  const { authorization } = request.headers
  if (authorization === undefined) return { kind: 'none' }
  const [, key] = pattern.exec(authorization) ?? []
  if (key === undefined || isRepeated(request.rawHeaders)) return { kind: 'malformed' }
  return { kind: 'key', key }
}

/** Node keeps the first of several such headers; a proxy in front may read the last. */
function isRepeated(rawHeaders: readonly string[]): boolean {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name !== undefined && name.length === 13 && name.toLowerCase() === 'authorization') count++
  }
  return count > 1
}
