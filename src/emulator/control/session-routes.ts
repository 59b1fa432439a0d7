import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { ControlError } from './answers.ts'
import {
  isFromThisMachine,
  keepSession,
  namesThisMachine,
  refuseOtherMachine,
  refuseOtherOrigin,
  sessionTokens,
} from './guard.ts'
import { route, type Route } from './route.ts'
import { textOf } from './values.ts'
import type { Sessions } from '../session/sessions.ts'

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
      if (result.kind === 'wrong') throw new ControlError(401, 'unauthorized', 'user or password is wrong')
      if (result.kind === 'limited') {
        const message = `too many sign-ins were wrong; try again in ${result.retryAfterS} s, as Retry-After says`
        throw new ControlError(429, 'rate_limited', message, { headers: { 'Retry-After': String(result.retryAfterS) } })
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
