import { isIPv4 } from 'node:net'

/** True if a server that listens on `name` can be reached from this machine only. Other names than localhost may be remote. */
export function isLoopback(name: string): boolean {
  return name === 'localhost' || name === '::1' || (isIPv4(name) && name.startsWith('127.'))
}

/** `isLoopback` for the host of a URL; false if the text is not a URL. */
export function isLoopbackUrl(url: string): boolean {
  const { hostname } = URL.parse(url) ?? {}
  return hostname !== undefined && isLoopback(withoutBrackets(hostname))
}

/** Removes the brackets of an IPv6 address: `[::1]` becomes `::1`. */
export function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1')
}
