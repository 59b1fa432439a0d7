import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { readCookies, toCookie } from '../../base/http/sign-in.ts'
import { isLoopback, withoutBrackets } from '../../base/loopback.ts'
import { HttpError } from '../rest/error.ts'
import { readBearer } from '../rest/exchange.ts'
import { type Sessions, sessionHours } from './sessions.ts'
import { z } from 'zod'
import { type Route, route } from './route.ts'
import { textOf } from '../values.ts'

/**
 * Returns a function that throws an HttpError if a request may not use the control API. Allowed are requests with a
 * dashboard session from a page of this server, and requests with the token from this machine that name a loopback host.
 */
export function createGuard(token: string, sessions: Sessions): (request: IncomingMessage) => void {
  const expected = digest(token)

  function isToken(request: IncomingMessage): boolean {
    const presented = readBearer(request)
    // Digests have equal lengths, as timingSafeEqual requires; timing reveals neither content nor length.
    return presented.kind === 'key' && timingSafeEqual(digest(presented.key), expected)
  }

  return (request) => {
    if (sessions.userOf(sessionTokens(request)) !== null) {
      rejectOtherOrigin(request)
      if (sessions.published !== null) rejectOtherMachine(request)
      return
    }
    if (request.headers.authorization !== undefined) {
      if (!isFromThisMachine(request)) {
        throw new HttpError(403, 'forbidden', 'control requests with the token must come from this machine')
      }
      if (!namesThisMachine(request)) {
        const message = 'the Host header must name this machine: localhost, 127.0.0.1 or [::1]'
        throw new HttpError(403, 'forbidden', message)
      }
      if (isToken(request)) return
    }
    const message =
      'expected the header "Authorization: Bearer <token>" with the control token, or the session cookie of the dashboard: ' +
      'sign in there'
    throw new HttpError(401, 'unauthorized', message, { headers: { 'WWW-Authenticate': 'Bearer' } })
  }
}

/** Throws 403 for requests from a page of another origin. */
function rejectOtherOrigin(request: IncomingMessage): void {
  if (!isSameOrigin(request)) throw new HttpError(403, 'forbidden', 'the request comes from a page of another origin')
}

/** Throws 403 if the published login is used from another machine, or under a non-loopback host name. */
function rejectOtherMachine(request: IncomingMessage): void {
  if (isFromThisMachine(request) && namesThisMachine(request)) return
  const message =
    'the login of the demo is public, so it works on this machine only, under localhost, 127.0.0.1 or [::1]: ' +
    'set another login as dashboard: {user, password} in a seed file'
  throw new HttpError(403, 'forbidden', message)
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}

/** True if a request comes from this machine. */
function isFromThisMachine({ socket }: IncomingMessage): boolean {
  // IPv6 sockets show IPv4 addresses with this prefix.
  return isLoopback((socket.remoteAddress ?? '').replace(/^::ffff:/, ''))
}

/** True if the Host header names loopback, with or without a port. Otherwise DNS rebinding could reach this server from another origin. */
function namesThisMachine(request: IncomingMessage): boolean {
  const [, host] = /^(\[[^\]]*\]|[^:[\]]+)(?::\d{1,5})?$/.exec(hostOf(request) ?? '') ?? []
  return host !== undefined && isLoopback(withoutBrackets(host))
}

/** True if a page of this server sent the request, or no browser did, by `Sec-Fetch-Site` and `Origin`. */
function isSameOrigin(request: IncomingMessage): boolean {
  const { 'sec-fetch-site': site, origin } = request.headers
  const host = hostOf(request)
  const isSameSite = site === undefined || site === 'same-origin' || site === 'none'
  const isOwnOrigin = origin === undefined || [`http://${host}`, `https://${host}`].includes(origin.toLowerCase())
  return host !== null && isSameSite && isOwnOrigin
}

/** Host header in lower case; null if missing or repeated. */
function hostOf(request: IncomingMessage): string | null {
  const [host, ...others] = request.headersDistinct['host'] ?? []
  return host === undefined || others.length > 0 ? null : host.toLowerCase()
}

const name = 'emulator_session'

/** Session tokens in the cookies of a request. */
export function sessionTokens(request: IncomingMessage): readonly string[] {
  return readCookies(request, name)
}

/** Sets the session cookie; null deletes it. */
function setSessionCookie(request: IncomingMessage, response: ServerResponse, token: string | null): void {
  const maxAgeS = token === null ? 0 : sessionHours * 3_600
  response.setHeader('Set-Cookie', toCookie(name, token ?? '', { maxAgeS, isSecure: 'encrypted' in request.socket }))
}

const loginBody = z.strictObject({ user: textOf('the name of a user', 256), password: textOf('a password', 1_024) })

/** Sign-in and sign-out of the dashboard (A65). No credential needed. */
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
      rejectOtherOrigin(request)
      if (sessions.published !== null) rejectOtherMachine(request)
      setSessionCookie(request, response, sessions.signIn(body, request.socket.remoteAddress ?? ''))
      return { signedIn: true, user: body.user }
    },
  }),
  route('DELETE', '/session', {
    isOpen: true,
    answer({ sessions }, { request, response }) {
      rejectOtherOrigin(request)
      sessions.signOut(sessionTokens(request))
      setSessionCookie(request, response, null)
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
