import { hash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { createFailureLimit } from '../../base/http/sign-in.ts'
import type { Logger } from '../../base/log.ts'
import type { RandomBytes } from '../random.ts'

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

export type SignIn =
  | { readonly kind: 'signed-in'; readonly token: string; readonly user: string }
  | { readonly kind: 'wrong' }
  /** Too many failures: the credentials were not checked. */
  | { readonly kind: 'limited'; readonly retryAfterS: number }

/** Sessions of the dashboard. In memory: a restart ends them. */
export interface Sessions {
  /** The published login; null if the login is private. */
  readonly published: DashboardLogin | null
  /** Starts a session of 12 hours. `address` is the client's, for the limit of 10 failures per minute. */
  signIn(given: DashboardLogin, address: string): SignIn
  /** User of the first valid session token; null if none is valid. */
  userOf(tokens: readonly string[]): string | null
  /** Ends the sessions of these tokens; idempotent. */
  signOut(tokens: readonly string[]): void
}

export const sessionHours = 12
const lifetimeMs = sessionHours * 3_600_000
/** Beyond this limit the oldest session ends. */
const maxSessions = 1_000
const tokenBytes = 32

/** Keeps sessions by token digest: lookup time reveals nothing about a token. */
export function createSessions({ login, isPublished, wall, randomBytes, log }: SessionsOptions): Sessions {
  const expected = { user: digest(login.user), password: digest(login.password) }
  const failures = createFailureLimit(wall)
  const endsAt = new Map<string, number>()

  /** Always compares both, so that timing doesn't reveal whether the user is right. */
  function isRight({ user, password }: DashboardLogin): boolean {
    const isUser = timingSafeEqual(digest(user), expected.user)
    const isPassword = timingSafeEqual(digest(password), expected.password)
    return isUser && isPassword
  }

  function begin(): string {
    const token = Buffer.from(randomBytes(tokenBytes)).toString('base64url')
    const now = wall.now()
    for (const [key, at] of endsAt) if (at <= now) endsAt.delete(key)
    const [oldest] = endsAt.keys()
    if (endsAt.size >= maxSessions && oldest !== undefined) endsAt.delete(oldest)
    endsAt.set(keyOf(token), now + lifetimeMs)
    return token
  }

  return {
    published: isPublished ? login : null,
    signIn(given, address) {
      const retryAfterS = failures.waitS(address)
      if (retryAfterS > 0) return { kind: 'limited', retryAfterS }
      if (!isRight(given)) {
        failures.note(address)
        log.warn({ address }, 'sign-in failed')
        return { kind: 'wrong' }
      }
      log.info({ address }, 'signed in')
      return { kind: 'signed-in', token: begin(), user: login.user }
    },
    userOf(tokens) {
      const now = wall.now()
      return tokens.some((token) => (endsAt.get(keyOf(token)) ?? -Infinity) > now) ? login.user : null
    },
    signOut(tokens) {
      for (const token of tokens) endsAt.delete(keyOf(token))
    },
  }
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}

function keyOf(token: string): string {
  return hash('sha256', token)
}
