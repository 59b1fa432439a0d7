import { hash } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { createFailureLimit, isSameSecret } from '../../base/http/sign-in.ts'
import type { Logger } from '../../base/log.ts'
import type { RandomBytes } from '../random.ts'
import { HttpError } from '../rest/error.ts'

/** The only login of the dashboard (A65). */
export interface DashboardLogin {
  readonly user: string
  readonly password: string
}

export interface SessionsOptions {
  readonly login: DashboardLogin
  /** True for the demo's published login: it is accepted from this machine only. */
  readonly isPublished: boolean
  /** Times the sessions. */
  readonly wall: Pick<Clock, 'now'>
  readonly randomBytes: RandomBytes
  readonly log: Logger
}

export const sessionHours = 12
const lifetimeMs = sessionHours * 3_600_000
const tokenBytes = 32

export type Sessions = ReturnType<typeof createSessions>

/** Sessions of the dashboard, in memory: a restart ends them. Keyed by digest: lookup time reveals nothing about a token. */
export function createSessions({ login, isPublished, wall, randomBytes, log }: SessionsOptions) {
  const failures = createFailureLimit(wall)
  const endsAt = new Map<string, number>()

  /** Always compares both, so that timing doesn't reveal whether the user is right. */
  function isRight({ user, password }: DashboardLogin): boolean {
    const isUser = isSameSecret(user, login.user)
    const isPassword = isSameSecret(password, login.password)
    return isUser && isPassword
  }

  return {
    /** The published login; null if the login is private. */
    published: isPublished ? login : null,
    /**
     * Starts a session of 12 hours; returns its token. `address` is the client's, for the limit of 10 failures per minute.
     *
     * @throws HttpError 401 for a wrong login, 429 after too many failures; then the login is not checked
     */
    signIn(entered: DashboardLogin, address: string): string {
      const waitS = failures.waitS(address)
      if (waitS > 0) {
        const message = `too many failed sign-ins; retry in ${waitS} s (see Retry-After)`
        throw new HttpError(429, 'rate_limited', message, { headers: { 'Retry-After': String(waitS) } })
      }
      if (!isRight(entered)) {
        failures.note(address)
        log.warn({ address }, 'sign-in failed')
        throw new HttpError(401, 'unauthorized', 'user or password is wrong')
      }
      log.info({ address }, 'signed in')
      const token = Buffer.from(randomBytes(tokenBytes)).toString('base64url')
      const now = wall.now()
      for (const [key, at] of endsAt) if (at <= now) endsAt.delete(key)
      endsAt.set(hash('sha256', token), now + lifetimeMs)
      return token
    },
    /** User of the first valid session token; null if none is valid. */
    userOf(tokens: readonly string[]): string | null {
      const now = wall.now()
      return tokens.some((token) => (endsAt.get(hash('sha256', token)) ?? -Infinity) > now) ? login.user : null
    },
    /** Ends the sessions of these tokens; idempotent. */
    signOut(tokens: readonly string[]): void {
      for (const token of tokens) endsAt.delete(hash('sha256', token))
    },
  }
}
