import type { IncomingMessage, ServerResponse } from 'node:http'
import { addressOf, isSameOrigin, namesLoopback } from '../../base/http/request.ts'
import { isSameSecret, readCookies, toCookie } from '../../base/http/sign-in.ts'
import { isLoopback } from '../../base/loopback.ts'
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
  return (request) => {
    if (sessions.userOf(sessionTokens(request)) !== null) {
      rejectOtherOrigin(request)
      if (sessions.published !== null) rejectOtherMachine(request)
      return
    }
    if (request.headers.authorization !== undefined) {
      if (!isLoopback(addressOf(request))) {
        throw new HttpError(403, 'forbidden', 'control requests with the token must come from this machine')
      }
      if (!namesLoopback(request)) {
        const message = 'the Host header must name this machine: localhost, 127.0.0.1 or [::1]'
        throw new HttpError(403, 'forbidden', message)
      }
      const presented = readBearer(request)
      if (presented.kind === 'key' && isSameSecret(presented.key, token)) return
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
  if (isLocal(request)) return
  const message =
    'the login of the demo is public, so it works on this machine only, under localhost, 127.0.0.1 or [::1]: ' +
    'set another login as dashboard: {user, password} in a seed file'
  throw new HttpError(403, 'forbidden', message)
}

/** True if a request comes from this machine and names it. */
function isLocal(request: IncomingMessage): boolean {
  return isLoopback(addressOf(request)) && namesLoopback(request)
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
  const isShown = isLocal(request)
  return { signedIn: user !== null, user, demo: isShown ? sessions.published : null }
}
