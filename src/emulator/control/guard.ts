import { hash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { readBearer } from '../rest/bearer.ts'
import type { Sessions } from '../session/sessions.ts'
import { ControlError } from './answers.ts'
import { isFromThisMachine, isSameOrigin, namesThisMachine } from './origin.ts'
import { sessionTokens } from './session-cookie.ts'

/** Throws what a request is refused with that may not control the emulator. */
export type Guard = (request: IncomingMessage) => void

export interface GuardOptions {
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
        throw new ControlError(403, 'forbidden', 'control requests with the token are taken from this machine only')
      }
      if (!namesThisMachine(request)) {
        const message = 'the Host header does not name this machine: call it as localhost, 127.0.0.1 or [::1]'
        throw new ControlError(403, 'forbidden', message)
      }
      if (isToken(request)) return
    }
    const message =
      'expected the header "Authorization: Bearer <token>" with the control token, or the cookie of a session of the ' +
      'dashboard: sign in there'
    throw new ControlError(401, 'unauthorized', message, { headers: { 'WWW-Authenticate': 'Bearer' } })
  }
}

/** Throws 403 for what a page of another origin sends. */
export function refuseOtherOrigin(request: IncomingMessage): void {
  if (!isSameOrigin(request))
    throw new ControlError(403, 'forbidden', 'the request comes from a page of another origin')
}

/** Throws 403 for what uses the published login from elsewhere than this machine, or by a name that is not its own. */
export function refuseOtherMachine(request: IncomingMessage): void {
  if (isFromThisMachine(request) && namesThisMachine(request)) return
  const message =
    'the login of the demo is published, so it is taken on this machine only, called as localhost, 127.0.0.1 or [::1]: ' +
    'give the emulator a login of its own, as dashboard: {user, password} in a seed file'
  throw new ControlError(403, 'forbidden', message)
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
