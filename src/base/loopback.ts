import { isIPv4 } from 'node:net'

/** Whether only this machine can reach a server that listens on `name`. Names other than localhost may be anywhere. */
export function isLoopback(name: string): boolean {
  return name === 'localhost' || name === '::1' || (isIPv4(name) && name.startsWith('127.'))
}

/** The same for the host of a URL; false if it is no URL. */
export function isLoopbackUrl(url: string): boolean {
  const { hostname } = URL.parse(url) ?? {}
  return hostname !== undefined && isLoopback(withoutBrackets(hostname))
}

/** An IPv6 address as `[::1]` or `::1`: the latter. Anything else as it is. */
export function withoutBrackets(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1')
}
