import { hash, timingSafeEqual } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { createFailureLimit } from '../../base/http/sign-in.ts'
import type { Logger } from '../../base/log.ts'
import type { RandomBytes } from '../random.ts'

/** The one account of the dashboard (A65). */
export interface DashboardLogin {
  readonly user: string
  readonly password: string
}

export interface SessionsOptions {
  readonly login: DashboardLogin
  /** Whether that is the published login of the demo, which anyone knows: then it serves this machine only. */
  readonly isPublished: boolean
  /** Sessions live on it. */
  readonly wall: Pick<Clock, 'now'>
  readonly randomBytes: RandomBytes
  readonly log: Logger
}

export type SignIn =
  | { readonly kind: 'signed-in'; readonly token: string; readonly user: string }
  | { readonly kind: 'wrong' }
  /** Too often wrong: whatever was given was not looked at. */
  | { readonly kind: 'limited'; readonly retryAfterS: number }

/** Who is signed in to the dashboard. In memory: a restart ends every session. */
export interface Sessions {
  /** The login that anyone may be shown; null where it is one of its own. */
  readonly published: DashboardLogin | null
  /** Begins a session of 12 hours. `address` is that of the client, for the limit of 10 wrong ones a minute. */
  signIn(given: DashboardLogin, address: string): SignIn
  /** Whose session the first of the tokens is that is one; null if none is, or it is over. */
  userOf(tokens: readonly string[]): string | null
  /** Ends the sessions of these tokens; idempotent. */
  signOut(tokens: readonly string[]): void
}

export const sessionHours = 12
const lifetimeMs = sessionHours * 3_600_000
/** Beyond that the oldest ends. */
const maxSessions = 1_000
const tokenBytes = 32

/** Keeps sessions by the digests of their tokens: how long a look-up takes tells nothing about a token. */
export function createSessions({ login, isPublished, wall, randomBytes, log }: SessionsOptions): Sessions {
  const expected = { user: digest(login.user), password: digest(login.password) }
  const failures = createFailureLimit(wall)
  const endsAt = new Map<string, number>()

  /** Both are compared, whatever the first gives: the time tells not even whether the user is right. */
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
        log.warn({ address }, 'a sign-in to the dashboard failed')
        return { kind: 'wrong' }
      }
      log.info({ address }, 'signed in to the dashboard')
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
