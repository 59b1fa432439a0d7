import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { readCookies, toCookie } from '../../base/http/sign-in.ts'
import { isLoopback, withoutBrackets } from '../../base/loopback.ts'
import { HttpError } from '../rest/error.ts'
import { readBearer } from '../rest/bearer.ts'
import { type Sessions, sessionHours } from '../session/sessions.ts'
import { z } from 'zod'
import { type Route, route } from './route.ts'
import { textOf } from '../values.ts'

/** Throws what a request is refused with that may not control the emulator. */
type Guard = (request: IncomingMessage) => void

interface GuardOptions {
  readonly token: string
  readonly sessions: Sessions
}

/**
 * Lets those pass that are signed in to the dashboard and come from a page of this server; and those that come from this
 * machine, call it by a name of loopback and know the token.
 */
export function createGuard({ token, sessions }: GuardOptions): Guard {
  const expected = digest(token)

  function isToken(request: IncomingMessage): boolean {
    const presented = readBearer(request)
    // Digests have one length, whatever came: timingSafeEqual insists on it, and neither content nor length shows.
    return presented.kind === 'key' && timingSafeEqual(digest(presented.key), expected)
  }

  return (request) => {
    if (sessions.userOf(sessionTokens(request)) !== null) {
      refuseOtherOrigin(request)
      if (sessions.published !== null) refuseOtherMachine(request)
      return
    }
    if (request.headers.authorization !== undefined) {
      if (!isFromThisMachine(request)) {
        throw new HttpError(403, 'forbidden', 'control requests with the token are taken from this machine only')
      }
      if (!namesThisMachine(request)) {
        const message = 'the Host header does not name this machine: call it as localhost, 127.0.0.1 or [::1]'
        throw new HttpError(403, 'forbidden', message)
      }
      if (isToken(request)) return
    }
    const message =
      'expected the header "Authorization: Bearer <token>" with the control token, or the cookie of a session of the ' +
      'dashboard: sign in there'
    throw new HttpError(401, 'unauthorized', message, { headers: { 'WWW-Authenticate': 'Bearer' } })
  }
}

/** Throws 403 for what a page of another origin sends. */
function refuseOtherOrigin(request: IncomingMessage): void {
  if (!isSameOrigin(request)) throw new HttpError(403, 'forbidden', 'the request comes from a page of another origin')
}

/** Throws 403 for what uses the published login from elsewhere than this machine, or by a name that is not its own. */
function refuseOtherMachine(request: IncomingMessage): void {
  if (isFromThisMachine(request) && namesThisMachine(request)) return
  const message =
    'the login of the demo is published, so it is taken on this machine only, called as localhost, 127.0.0.1 or [::1]: ' +
    'give the emulator a login of its own, as dashboard: {user, password} in a seed file'
  throw new HttpError(403, 'forbidden', message)
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}

/** Whether a request comes from this machine. */
function isFromThisMachine({ socket }: IncomingMessage): boolean {
  // An IPv4 address as a socket of IPv6 shows it: as itself.
  return isLoopback((socket.remoteAddress ?? '').replace(/^::ffff:/, ''))
}

/**
 * Whether the Host header names loopback, with or without a port. Else a page of another origin could have had its name
 * resolved to this address.
 */
function namesThisMachine(request: IncomingMessage): boolean {
  const [, host] = /^(\[[^\]]*\]|[^:[\]]+)(?::\d{1,5})?$/.exec(hostOf(request) ?? '') ?? []
  return host !== undefined && isLoopback(withoutBrackets(host))
}

/** Whether a browser sent the request for a page of this very server, or no browser did: `Sec-Fetch-Site` and `Origin` tell. */
function isSameOrigin(request: IncomingMessage): boolean {
  const { 'sec-fetch-site': site, origin } = request.headers
  const host = hostOf(request)
  const isSameSite = site === undefined || site === 'same-origin' || site === 'none'
  const ofHost = origin === undefined || [`http://${host}`, `https://${host}`].includes(origin.toLowerCase())
  return host !== null && isSameSite && ofHost
}

/** In lower case; null if there is none, or more than one. */
function hostOf(request: IncomingMessage): string | null {
  const [host, ...others] = request.headersDistinct['host'] ?? []
  return host === undefined || others.length > 0 ? null : host.toLowerCase()
}

const name = 'emulator_session'

/** What a request has as its session of the dashboard. */
export function sessionTokens(request: IncomingMessage): readonly string[] {
  return readCookies(request, name)
}

/** Has the client keep the token of its session; null: forget it. */
function keepSession(request: IncomingMessage, response: ServerResponse, token: string | null): void {
  const maxAgeS = token === null ? 0 : sessionHours * 3_600
  response.setHeader('Set-Cookie', toCookie(name, token ?? '', { maxAgeS, isSecure: 'encrypted' in request.socket }))
}

const loginBody = z.strictObject({ user: textOf('the name of a user', 256), password: textOf('a password', 1_024) })

/** Signing in to the dashboard, and out of it (A65). They need no credential. */
export const sessionRoutes: readonly Route[] = [
  route('GET', '/session', {
    isOpen: true,
    answer: ({ sessions }, { request }) => toSession(sessions, request),
  }),
  route('POST', '/session', {
    isOpen: true,
    body: loginBody,
    status: 201,
    answer({ sessions }, { body, request, response }) {
      refuseOtherOrigin(request)
      if (sessions.published !== null) refuseOtherMachine(request)
      const result = sessions.signIn(body, request.socket.remoteAddress ?? '')
      if (result.kind === 'wrong') throw new HttpError(401, 'unauthorized', 'user or password is wrong')
      if (result.kind === 'limited') {
        const message = `too many sign-ins were wrong; try again in ${result.retryAfterS} s, as Retry-After says`
        throw new HttpError(429, 'rate_limited', message, { headers: { 'Retry-After': String(result.retryAfterS) } })
      }
      keepSession(request, response, result.token)
      return { signedIn: true, user: result.user }
    },
  }),
  route('DELETE', '/session', {
    isOpen: true,
    answer({ sessions }, { request, response }) {
      refuseOtherOrigin(request)
      sessions.signOut(sessionTokens(request))
      keepSession(request, response, null)
      return { signedIn: false }
    },
  }),
]

export type ShownSession = ReturnType<typeof toSession>

function toSession(sessions: Sessions, request: IncomingMessage) {
  const user = sessions.userOf(sessionTokens(request))
  const isShown = isFromThisMachine(request) && namesThisMachine(request)
  return { signedIn: user !== null, user, demo: isShown ? sessions.published : null }
}
