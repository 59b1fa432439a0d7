import type { Express, Request, Response } from 'express'
import { InboxError, messageOf } from '../errors.ts'
import type { ViewPort } from '../inbox/port.ts'
import type { Logger } from '../log.ts'
import { toCookie } from '../session/cookie.ts'
import { createFailureLimit } from '../session/failure-limit.ts'
import type { SessionJson } from './answers/health.ts'
import { addressOf, describeCaller, sessionCookie, sessionOf, type Guard } from './auth.ts'
import { signInBody } from './bodies.ts'
import { readJsonBody, sendJson } from './http.ts'
import type { RoleOf } from './roles.ts'
import { sessionHours, type Session, type Sessions } from './sessions.ts'

export interface SessionRoutesOptions {
  readonly guard: Pick<Guard, 'authenticate'>
  readonly roleOf: RoleOf
  readonly sessions: Sessions
  readonly inbox: Pick<ViewPort, 'note'>
  readonly now: () => number
  readonly log: Logger
}

const signInBytes = 4_096

/** Signing in to the console and out of it, at `path`. They need no credential beside the token that is given. */
export function serveSession(app: Express, path: string, options: SessionRoutesOptions): void {
  const { guard, roleOf, sessions, inbox, now, log } = options
  const failures = createFailureLimit({ now })

  /** Where nothing can be written, people have to get in all the more. */
  async function note(action: 'session.begin' | 'session.end', { role }: Session, request: Request): Promise<void> {
    const by = describeCaller(role, 'session', request)
    log.info({ by }, action === 'session.begin' ? 'signed in to the console' : 'signed out of the console')
    try {
      await inbox.note(action, { role }, by)
    } catch (error) {
      log.warn({ by, error: messageOf(error) }, 'a sign-in or sign-out could not be noted in the audit')
    }
  }

  app.get(path, (request, response) => {
    const { role, session } = guard.authenticate(request)
    sendJson(response, toSessionJson(role, session))
  })
  app.post(path, async (request, response) => {
    refuseLarge(request)
    const { data } = signInBody.safeParse(await readJsonBody(request, response))
    if (data === undefined) {
      throw new InboxError('bad_request', 'expected {"token": "…"} with the admin token, or that of viewers')
    }
    const address = addressOf(request)
    const waitS = failures.waitS(address)
    if (waitS > 0) {
      response.set('Retry-After', String(waitS))
      const message = `too many sign-ins were wrong; try again in ${waitS} s, as Retry-After says`
      throw new InboxError('rate_limited', message)
    }
    const role = roleOf(data.token)
    if (role === null) {
      failures.note(address)
      log.warn({ address }, 'a sign-in to the console failed')
      throw new InboxError('unauthorized', 'the token is neither that of the operator nor that of viewers')
    }
    const { value, session } = sessions.begin(role)
    await note('session.begin', session, request)
    keep(request, response, value)
    sendJson(response, toSessionJson(role, session), 201)
  })
  app.delete(path, async (request, response) => {
    const session = sessionOf(request, sessions)
    if (session !== null) {
      sessions.end(session)
      await note('session.end', session, request)
    }
    keep(request, response, null)
    sendJson(response, { signed_out: true })
  })
}

/** Before it is read: nobody has shown yet that they may cost anything. */
function refuseLarge({ headers }: Request): void {
  if (Number(headers['content-length'] ?? Infinity) <= signInBytes) return
  const message = `a sign-in has a body of at most ${signInBytes} bytes, with its Content-Length`
  throw new InboxError('body_too_large', message)
}

/** Has the client keep its session; null: forget it. */
function keep(request: Request, response: Response, value: string | null): void {
  // This side has no TLS of its own. A proxy in front may, and then the page says so.
  const isSecure = 'encrypted' in request.socket || request.headers.origin?.startsWith('https:') === true
  const maxAgeS = value === null ? 0 : sessionHours * 3_600
  response.set('Set-Cookie', toCookie(sessionCookie(request), value ?? '', { maxAgeS, isSecure }))
}

function toSessionJson(role: SessionJson['role'], session: Session | null): SessionJson {
  return { role, expires_at: session === null ? null : new Date(session.expiresAt).toISOString() }
}
