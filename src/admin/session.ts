import type { Express, Request, Response } from 'express'
import { z } from 'zod'
import { InboxError, messageOf } from '../base/errors.ts'
import type { OperatorActions } from '../inbox/port.ts'
import type { Logger } from '../base/log.ts'
import { toCookie, createFailureLimit } from '../base/http/sign-in.ts'
import { addressOf, describeCaller, sessionCookie, sessionOf, type Guard } from './auth.ts'
import { readJsonBody, sendJson } from './http.ts'
import { type RoleOf, sessionHours, type Session, type Sessions } from './sessions.ts'
import { describeRoute } from './route.ts'
import { components, isoTimeOrNull, time } from './wire.ts'

const session = z
  .object({
    role: z.enum(['operator', 'viewer']),
    expires_at: time.nullable().describe('null: by a token, not a session'),
  })
  .register(components, { id: 'Session' })
const signedOut = z.object({ signed_out: z.literal(true) }).register(components, { id: 'SignedOut' })

export type SessionJson = z.output<typeof session>

const signInBody = z
  .strictObject({ token: z.string().min(1).max(1_024) })
  .describe('{"token": "…"} with the admin token, or that of viewers')

/** Served apart from the other routes, since they set cookies. */
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
    refuses: ['unauthorized', 'rate_limited'],
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

/** Serves sign-in and sign-out at `path`. They need no credential beside the token in the body. */
export function serveSession(app: Express, path: string, options: SessionRoutesOptions): void {
  const { guard, roleOf, sessions, inbox, now, log } = options
  const failures = createFailureLimit({ now })

  /** A store that can't be written must not keep operators out. */
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
    const { role, session: signedIn } = guard.authenticate(request)
    sendJson(response, toSessionJson(role, signedIn))
  })
  app.post(path, async (request, response) => {
    rejectLarge(request)
    const { data } = signInBody.safeParse(await readJsonBody(request, response))
    if (data === undefined) {
      throw new InboxError('bad_request', 'expected {"token": "…"} with the admin token, or that of viewers')
    }
    const address = addressOf(request)
    const waitS = failures.waitS(address)
    if (waitS > 0) {
      response.set('Retry-After', String(waitS))
      throw new InboxError('rate_limited', `too many sign-ins were wrong; try again in ${waitS} s, as Retry-After says`)
    }
    const role = roleOf(data.token)
    if (role === null) {
      failures.note(address)
      log.warn({ address }, 'a sign-in to the console failed')
      throw new InboxError('unauthorized', 'the token is neither that of the operator nor that of viewers')
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

/** Before the body is read: the caller has shown no credential yet. */
function rejectLarge({ headers }: Request): void {
  if (Number(headers['content-length'] ?? Infinity) <= signInBytes) return
  const message = `a sign-in has a body of at most ${signInBytes} bytes, with its Content-Length`
  throw new InboxError('body_too_large', message)
}

/** Null deletes the cookie. */
function setCookie(request: Request, response: Response, value: string | null): void {
  // This side has no TLS of its own. A proxy in front may, and then the page says so.
  const isSecure = 'encrypted' in request.socket || request.headers.origin?.startsWith('https:') === true
  const maxAgeS = value === null ? 0 : sessionHours * 3_600
  response.set('Set-Cookie', toCookie(sessionCookie(request), value ?? '', { maxAgeS, isSecure }))
}

function toSessionJson(role: SessionJson['role'], found: Session | null): SessionJson {
  return { role, expires_at: isoTimeOrNull(found?.expiresAt) }
}
