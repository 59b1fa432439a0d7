import type { Express, Request, Response } from 'express'
import { z } from 'zod'
import { InboxError, messageOf } from '../base/errors.ts'
import type { OperatorActions } from '../inbox/port.ts'
import type { Logger } from '../base/log.ts'
import { toCookie, createFailureLimit } from '../base/http/sign-in.ts'
import { addressOf } from '../base/http/request.ts'
import { describeCaller, sessionCookie, sessionOf, type Guard } from './auth.ts'
import { readJsonBody, sendJson } from './http.ts'
import { type RoleOf, sessionHours, type Session, type Sessions } from './sessions.ts'
import { describeRoute } from './route.ts'
import { component, isoTimeOrNull, time } from './wire.ts'

const session = component('Session', {
  role: z.enum(['operator', 'viewer']),
  expires_at: time.nullable().describe('null: a token was used'),
})
const signedOut = component('SignedOut', { signed_out: z.literal(true) })

export type SessionJson = z.output<typeof session>

const signInBody = z
  .strictObject({ token: z.string().min(1).max(1_024) })
  .describe('{"token": "…"} with the admin or viewer token')

/** Served separately from the other routes, because they set cookies. */
export const sessionRoutes = {
  getSession: describeRoute({
    at: 'GET /session',
    summary: "Show the caller's role",
    gives: session,
  }),
  signIn: describeRoute({
    at: 'POST /session',
    role: 'anyone',
    summary: 'Sign in with a token; a cookie keeps the session',
    body: signInBody,
    gives: session,
    status: 201,
    errors: ['unauthorized', 'rate_limited'],
  }),
  signOut: describeRoute({
    at: 'DELETE /session',
    role: 'anyone',
    summary: 'Sign out; idempotent',
    gives: signedOut,
  }),
}

export interface SessionRoutesOptions {
  readonly guard: Pick<Guard, 'authenticate'>
  readonly roleOf: RoleOf
  readonly sessions: Sessions
  readonly inbox: Pick<OperatorActions, 'note'>
  readonly now: () => number
  readonly log: Logger
}

const signInBytes = 4_096

/** Serves sign-in and sign-out at `path`. */
export function serveSession(app: Express, path: string, options: SessionRoutesOptions): void {
  const { guard, roleOf, sessions, inbox, now, log } = options
  const failures = createFailureLimit({ now })

  /** A failure of the store must not lock operators out. */
  async function note(action: 'session.begin' | 'session.end', { role }: Session, request: Request): Promise<void> {
    const by = describeCaller(role, 'session', request)
    log.info({ by }, action === 'session.begin' ? 'signed in to console' : 'signed out of console')
    try {
      await inbox.note(action, { role }, by)
    } catch (error) {
      log.warn({ by, error: messageOf(error) }, 'session not audited')
    }
  }

  app.get(path, (request, response) => {
    const { role, session: signedIn } = guard.authenticate(request)
    sendJson(response, toSessionJson(role, signedIn))
  })
  app.post(path, async (request, response) => {
    rejectLarge(request)
    const { data } = signInBody.safeParse(await readJsonBody(request, response))
    if (data === undefined) throw new InboxError('bad_request', `expected ${signInBody.description}`)
    const address = addressOf(request)
    const waitS = failures.waitS(address)
    if (waitS > 0) {
      response.set('Retry-After', String(waitS))
      throw new InboxError('rate_limited', `too many failed sign-ins: try again in ${waitS} s`)
    }
    const role = roleOf(data.token)
    if (role === null) {
      failures.note(address)
      log.warn({ address }, 'console sign-in failed')
      throw new InboxError('unauthorized', 'the token is neither the admin nor the viewer token')
    }
    const { value, session: begun } = sessions.begin(role)
    await note('session.begin', begun, request)
    setCookie(request, response, value)
    sendJson(response, toSessionJson(role, begun), 201)
  })
  app.delete(path, async (request, response) => {
    const ended = sessionOf(request, sessions)
    if (ended !== null) {
      sessions.end(ended)
      await note('session.end', ended, request)
    }
    setCookie(request, response, null)
    sendJson(response, { signed_out: true })
  })
}

/** Call before the body is read: the caller has no credential yet. */
function rejectLarge({ headers }: Request): void {
  if (Number(headers['content-length'] ?? Infinity) <= signInBytes) return
  throw new InboxError('body_too_large', `expected a body of at most ${signInBytes} bytes with its Content-Length`)
}

/** Null deletes the cookie. */
function setCookie(request: Request, response: Response, value: string | null): void {
  // The admin side has no TLS. If a proxy adds it, the origin of the page shows that.
  const isSecure = 'encrypted' in request.socket || request.headers.origin?.startsWith('https:') === true
  const maxAgeS = value === null ? 0 : sessionHours * 3_600
  response.set('Set-Cookie', toCookie(sessionCookie(request), value ?? '', { maxAgeS, isSecure }))
}

function toSessionJson(role: SessionJson['role'], signedIn: Session | null): SessionJson {
  return { role, expires_at: isoTimeOrNull(signedIn?.expiresAt) }
}
