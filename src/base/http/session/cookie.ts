import type { IncomingMessage } from 'node:http'

/** The values of all cookies of a name that a request carries: a browser may send several, of several paths. */
export function readCookies(request: IncomingMessage, name: string): readonly string[] {
  return (request.headers.cookie ?? '').split(';').flatMap((pair) => {
    const equals = pair.indexOf('=')
    return equals >= 0 && pair.slice(0, equals).trim() === name ? [pair.slice(equals + 1).trim()] : []
  })
}

export interface CookieOptions {
  /** In seconds; 0 takes the cookie away. */
  readonly maxAgeS: number
  /** Whether it goes by TLS only. */
  readonly isSecure: boolean
}

/** The value of a `Set-Cookie` header: a cookie that no script reads and no page of another site sends. */
export function toCookie(name: string, value: string, { maxAgeS, isSecure }: CookieOptions): string {
  const attributes = [`${name}=${value}`, 'HttpOnly', 'SameSite=Strict', 'Path=/', `Max-Age=${maxAgeS}`]
  return [...attributes, ...(isSecure ? ['Secure'] : [])].join('; ')
}
