import type { Clock } from '../clock.ts'
import type { IncomingMessage } from 'node:http'

/** Maximum number of failed sign-ins per address and minute. */
const maxFailures = 10
/** Maximum for all addresses together, against attackers with many addresses. */
const maxOfAll = 100
const windowMs = 60_000
/** Maximum addresses counted at a time. */
const maxAddresses = 1_000

interface Window {
  readonly startAt: number
  count: number
}

/** Counts failures in windows of 60 s of wall-clock time. A window starts with its first failure. */
export function createFailureLimit(wall: Pick<Clock, 'now'>) {
  const byAddress = new Map<string, Window>()
  let ofAll: Window = { startAt: -Infinity, count: 0 }

  // If the clock was set back, the window ends; otherwise it might never end.
  const isCurrent = ({ startAt }: Window, now: number) => now >= startAt && now < startAt + windowMs
  const waitMs = (window: Window | undefined, max: number, now: number) =>
    window !== undefined && isCurrent(window, now) && window.count >= max ? window.startAt + windowMs - now : 0
  const counted = (window: Window | undefined, now: number): Window =>
    window !== undefined && isCurrent(window, now)
      ? { startAt: window.startAt, count: window.count + 1 }
      : { startAt: now, count: 1 }

  return {
    /** Whole seconds until this address may try again; 0: now. */
    waitS(address: string): number {
      const now = wall.now()
      const ms = Math.max(waitMs(byAddress.get(address), maxFailures, now), waitMs(ofAll, maxOfAll, now))
      return Math.ceil(ms / 1_000)
    },
    /** Counts a failure. */
    note(address: string): void {
      const now = wall.now()
      const window = counted(byAddress.get(address), now)
      byAddress.delete(address)
      byAddress.set(address, window)
      ofAll = counted(ofAll, now)
      const [oldest] = byAddress.keys()
      if (byAddress.size > maxAddresses && oldest !== undefined) byAddress.delete(oldest)
    },
  }
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
