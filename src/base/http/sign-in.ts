import { hash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../clock.ts'
import type { IncomingMessage } from 'node:http'
import { RateLimits } from './rate-limits.ts'

/** Maximum number of failed sign-ins per address and minute. */
const maxFailures = 10
/** Maximum for all addresses together, against attackers with many addresses. */
const maxOfAll = 100
/** Maximum addresses counted at a time. */
const maxAddresses = 1_000

/** Counts failures in windows of 60 s of wall-clock time. A window starts with its first failure. */
export function createFailureLimit(wall: Pick<Clock, 'now'>) {
  const ofAddress = new RateLimits(wall, maxAddresses)
  const ofAll = new RateLimits(wall, 1)
  return {
    /** Whole seconds until this address may try again; 0: now. */
    waitS: (address: string): number =>
      Math.ceil(Math.max(ofAddress.waitMs(address, maxFailures), ofAll.waitMs('', maxOfAll)) / 1_000),
    /** Counts a failure. */
    note(address: string): void {
      ofAddress.take(address, maxFailures)
      ofAll.take('', maxOfAll)
    },
  }
}

/** Compares secrets. Its time reveals neither content nor length. */
export function isSameSecret(a: string, b: string): boolean {
  return timingSafeEqual(hash('sha256', a, 'buffer'), hash('sha256', b, 'buffer'))
}

/** Values of all cookies with a name. A browser may send several, with different paths. */
export function readCookies(request: IncomingMessage, name: string): readonly string[] {
  return (request.headers.cookie ?? '').split(';').flatMap((pair) => {
    const equals = pair.indexOf('=')
    return equals >= 0 && pair.slice(0, equals).trim() === name ? [pair.slice(equals + 1).trim()] : []
  })
}

export interface CookieOptions {
  /** In seconds; 0 removes the cookie. */
  readonly maxAgeS: number
  /** True: sent over TLS only. */
  readonly isSecure: boolean
}

/** Builds a `Set-Cookie` header. Scripts can't read the cookie, and other sites can't send it. */
export function toCookie(name: string, value: string, { maxAgeS, isSecure }: CookieOptions): string {
  const attributes = [`${name}=${value}`, 'HttpOnly', 'SameSite=Strict', 'Path=/', `Max-Age=${maxAgeS}`]
  return [...attributes, ...(isSecure ? ['Secure'] : [])].join('; ')
}
