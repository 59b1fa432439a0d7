import type { IncomingMessage } from 'node:http'
import { InboxError } from '../base/errors.ts'
import { withoutBrackets } from '../base/loopback.ts'
import { addressOf, hostNameOf, hostOf, isSameOrigin, namesLoopback } from '../base/http/request.ts'
import { readCookies } from '../base/http/sign-in.ts'
import { safeText } from '../base/log.ts'
import type { Role, RoleOf, Session, Sessions } from './sessions.ts'

export interface GuardOptions {
  readonly roleOf: RoleOf
  readonly sessions: Pick<Sessions, 'find'>
  /** Allowed host names, in addition to loopback. A name with a port allows only that port. */
  readonly hosts: readonly string[]
}

/** Authenticated sender of a request. */
export interface Caller {
  readonly role: Role
  readonly via: 'token' | 'session'
  /** See `describeCaller`. */
  readonly by: string
  /** Null: a token was used. */
  readonly session: Session | null
}

const safeMethods: ReadonlySet<string | undefined> = new Set(['GET', 'HEAD', 'OPTIONS'])

export type Guard = ReturnType<typeof createGuard>

/** Checks of requests. Each throws an InboxError to reject the request. */
export function createGuard({ roleOf, sessions, hosts }: GuardOptions) {
  const allowed = new Set(hosts.map((host) => withoutBrackets(host.toLowerCase())))

  return {
    /** The Host header must name this server. Prevents DNS rebinding. */
    checkHost(request: IncomingMessage): void {
      const name = hostNameOf(request)
      if (namesLoopback(request) || (name !== null && (allowed.has(name) || allowed.has(hostOf(request) ?? '')))) return
      throw new InboxError('forbidden', 'the Host header does not name this server; allow it by INBOX_ADMIN_HOSTS')
    },
    /** A changing request must not come from a page of another origin. */
    checkOrigin(request: IncomingMessage): void {
      if (!safeMethods.has(request.method)) rejectOtherOrigin(request)
    },
    /**
     * Authenticates by token, or without one by session. Sessions are accepted from the same origin only.
     *
     * @throws InboxError `unauthorized` without a valid credential, `forbidden` for a session from another origin
     */
    authenticate(request: IncomingMessage): Caller {
      const { authorization = '' } = request.headers
      // A proxy may use other schemes, which don't replace the session.
      if (/^Bearer(?:\s|$)/i.test(authorization)) {
        const [, token] = /^Bearer +(\S+)$/i.exec(authorization) ?? []
        const role = token === undefined ? null : roleOf(token)
        if (role === null) throw unauthorized()
        return { role, via: 'token', by: describeCaller(role, 'token', request), session: null }
      }
      const session = sessionOf(request, sessions)
      if (session === null) throw unauthorized()
      // Pages on other ports of this host are same-site: their requests carry the cookie.
      rejectOtherOrigin(request)
      const { role } = session
      return { role, via: 'session', by: describeCaller(role, 'session', request), session }
    },
  }
}

/** Kept characters of a user agent. */
const maxUserAgent = 200

/** Caller for the audit, with the user agent if the request has one: `operator (session) 127.0.0.1 Mozilla/5.0`. */
export function describeCaller(role: Role, via: Caller['via'], request: IncomingMessage): string {
  const userAgent = safeText(request.headers['user-agent'] ?? '', maxUserAgent)
  return `${role} (${via}) ${addressOf(request)} ${userAgent}`.trimEnd()
}

/** The parts of an audit entry's caller. The user agent is null if there was none, and in entries of older versions. */
export function partsOfCaller(caller: string | null): {
  readonly by: string | null
  readonly user_agent: string | null
} {
  const [, by = caller, userAgent = null] = /^(\w+ \(\w+\) \S*) (.+)$/s.exec(caller ?? '') ?? []
  return { by, user_agent: userAgent }
}

/** Browsers send cookies to all ports of a host, so the name contains the port. */
export function sessionCookie({ socket }: IncomingMessage): string {
  return `inbox_session_${socket.localPort}`
}

/** The valid session of a request, from any origin; null without one. */
export function sessionOf(request: IncomingMessage, sessions: Pick<Sessions, 'find'>): Session | null {
  return sessions.find(readCookies(request, sessionCookie(request)))
}

function rejectOtherOrigin(request: IncomingMessage): void {
  if (!isSameOrigin(request)) throw new InboxError('forbidden', 'the request comes from a page of another origin')
}

function unauthorized(): InboxError {
  return new InboxError(
    'unauthorized',
    'expected the header "Authorization: Bearer <token>" with an admin token, or a session cookie: sign in to the console',
  )
}
