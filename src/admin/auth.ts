import type { IncomingMessage } from 'node:http'
import { InboxError } from '../base/errors.ts'
import { isLoopback, withoutBrackets } from '../base/loopback.ts'
import { readCookies } from '../base/http/sign-in.ts'
import type { Role, RoleOf, Session, Sessions } from './sessions.ts'

export interface GuardOptions {
  readonly roleOf: RoleOf
  readonly sessions: Pick<Sessions, 'find'>
  /** Host names that are allowed beside those of loopback; one with a port goes with that port only. */
  readonly hosts: readonly string[]
}

/** Who sent a request, and how that is known. */
export interface Caller {
  readonly role: Role
  readonly via: 'token' | 'session'
  /** For the audit: `operator (session) 127.0.0.1`. */
  readonly by: string
  /** Null: by a token. */
  readonly session: Session | null
}

/** Throws the error that says why the request is refused. */
export type RequestCheck = (request: IncomingMessage) => void

export interface Guard {
  /** The Host header names this server: else a page of another origin has had its name resolved to this address. */
  readonly checkHost: RequestCheck
  /** A request that changes something does not come from a page of another origin. */
  readonly checkOrigin: RequestCheck
  /**
   * By the token that the request carries, and only without one by its session; that is taken from the own page only.
   *
   * @throws InboxError `unauthorized` without a credential that is right, `forbidden` for a session from a page of another origin
   */
  authenticate(request: IncomingMessage): Caller
}

const safeMethods: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** The checks that stand before the admin side. */
export function createGuard({ roleOf, sessions, hosts }: GuardOptions): Guard {
  const allowed = new Set(hosts.map((host) => withoutBrackets(host.toLowerCase())))

  const isAllowedHost = (header: string) => {
    const [, host] = /^(\[[^\]]*\]|[^:[\]]+)(?::\d{1,5})?$/.exec(header) ?? []
    if (host === undefined) return false
    const name = withoutBrackets(host)
    return isLoopback(name) || allowed.has(name) || allowed.has(header)
  }

  return {
    checkHost(request) {
      const [host, ...others] = request.headersDistinct.host ?? []
      if (host !== undefined && others.length === 0 && isAllowedHost(host.toLowerCase())) return
      throw new InboxError('forbidden', 'the Host header does not name this server; allow it by INBOX_ADMIN_HOSTS')
    },
    checkOrigin(request) {
      if (!safeMethods.has(request.method)) refuseOtherOrigin(request)
    },
    authenticate(request) {
      const { authorization = '' } = request.headers
      // Whatever else a proxy in front asks for does not hide the session.
      if (/^Bearer(?:\s|$)/i.test(authorization)) {
        const [, token] = /^Bearer +(\S+)$/i.exec(authorization) ?? []
        const role = token === undefined ? null : roleOf(token)
        if (role === null) throw unauthorized()
        return { role, via: 'token', by: describeCaller(role, 'token', request), session: null }
      }
      const session = sessionOf(request, sessions)
      if (session === null) throw unauthorized()
      // A page on another port of this machine is of the same site: its requests carry the cookie.
      refuseOtherOrigin(request)
      const { role } = session
      return { role, via: 'session', by: describeCaller(role, 'session', request), session }
    },
  }
}

/** As the audit names a caller. */
export function describeCaller(role: Role, via: Caller['via'], request: IncomingMessage): string {
  return `${role} (${via}) ${addressOf(request)}`
}

/** Where a request comes from; an IPv4 address as a socket of IPv6 shows it: as itself. */
export function addressOf({ socket }: IncomingMessage): string {
  return (socket.remoteAddress ?? '').replace(/^::ffff:/, '')
}

/** Cookies are for all ports of a host, so that the name tells one receiver from another. */
export function sessionCookie({ socket }: IncomingMessage): string {
  return `inbox_session_${socket.localPort}`
}

/** The session of a request, wherever that comes from; null if it has none, or only one that is over. */
export function sessionOf(request: IncomingMessage, sessions: Pick<Sessions, 'find'>): Session | null {
  return sessions.find(readCookies(request, sessionCookie(request)))
}

/** @throws InboxError `forbidden` for what a browser sends for a page of another origin: `Sec-Fetch-Site` and `Origin` tell */
function refuseOtherOrigin({ headers }: IncomingMessage): void {
  const { origin, host, 'sec-fetch-site': site } = headers
  const isSameOrigin = origin === undefined || URL.parse(origin)?.host === host?.toLowerCase()
  if (isSameOrigin && (site === undefined || site === 'same-origin' || site === 'none')) return
  throw new InboxError('forbidden', 'the request comes from a page of another origin')
}

function unauthorized(): InboxError {
  return new InboxError(
    'unauthorized',
    'expected the header "Authorization: Bearer <token>" with the admin token, or the cookie of a session of the console: ' +
      'sign in there',
  )
}
