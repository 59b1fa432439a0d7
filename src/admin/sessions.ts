import { createHmac, hash, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'

export interface Session {
  readonly role: Role
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  readonly id: string
}

/**
 * Who is signed in to the console. A session is signed, not stored: it outlives a restart, holds on all replicas, and ends when
 * one of the tokens is changed. That it was signed out is remembered in memory until it would have ended.
 */
export interface Sessions {
  /** Begins one of 12 hours; `value` is for the cookie. */
  begin(role: Role): { readonly value: string; readonly session: Session }
  /** The first of the values that is a session, and not over; null if none is. */
  find(values: readonly string[]): Session | null
  /** Idempotent. */
  end(session: Session): void
}

export interface SessionsOptions {
  readonly tokens: Tokens
  readonly now: () => number
}

export const sessionHours = 12
const lifetimeMs = sessionHours * 3_600_000
/** Beyond that, all end that would end no later than the first of those that are forgotten. */
const mostEnded = 10_000

export function createSessions({ tokens, now }: SessionsOptions): Sessions {
  const key = keyOf(tokens)
  const ended = new Map<string, number>()
  let endedUntil = -Infinity

  const sign = (payload: string) => `${payload}.${createHmac('sha256', key).update(payload).digest('base64url')}`

  function read(value: string): Session | null {
    const [payload = ''] = value.split('.')
    // The text is compared, not the bytes it stands for: of those there is more than one spelling.
    if (!timingSafeEqual(digest(value), digest(sign(payload)))) return null
    // This program has signed it, so it is what this program writes.
    const { role, exp, id } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Payload
    return { role, expiresAt: exp, id }
  }

  function isOver({ expiresAt, id }: Session): boolean {
    return expiresAt <= now() || expiresAt <= endedUntil || ended.has(id)
  }

  return {
    begin(role) {
      const session = { role, expiresAt: now() + lifetimeMs, id: randomBytes(16).toString('base64url') }
      const payload: Payload = { role, exp: session.expiresAt, id: session.id }
      return { value: sign(Buffer.from(JSON.stringify(payload)).toString('base64url')), session }
    },
    find(values) {
      for (const value of values) {
        const session = read(value)
        if (session !== null && !isOver(session)) return session
      }
      return null
    },
    end({ id, expiresAt }) {
      for (const [other, at] of ended) if (at <= now()) ended.delete(other)
      ended.set(id, expiresAt)
      if (ended.size <= mostEnded) return
      const [[oldest, at] = ['', 0]] = ended.entries()
      ended.delete(oldest)
      endedUntil = Math.max(endedUntil, at)
    },
  }
}

interface Payload {
  readonly role: Role
  readonly exp: number
  readonly id: string
}

/** A token holds no NUL, so that no two pairs of tokens give one key. */
function keyOf({ operator, viewer = '' }: Tokens): Buffer {
  return Buffer.from(hkdfSync('sha256', `${operator}\0${viewer}`, 'onchain-inbox', 'sessions of the console 1', 32))
}

/** A viewer may look at everything, an operator may act as well. */
export type Role = 'operator' | 'viewer'

export interface Tokens {
  readonly operator: string
  /** Absent: there are no viewers. Never the same as the operator's. */
  readonly viewer?: string | undefined
}

/** Gives the role of whoever has a token; null if it is none of them. */
export type RoleOf = (token: string) => Role | null

/** Compares with both, whatever the first gives: the time tells not even whether there are viewers. */
export function createRoleOf({ operator, viewer }: Tokens): RoleOf {
  const expected = { operator: digest(operator), viewer: digest(viewer ?? operator) }
  return (token) => {
    const given = digest(token)
    // Digests have one length, whatever came: timingSafeEqual insists on it, and neither content nor length shows.
    const isOperator = timingSafeEqual(given, expected.operator)
    const isViewer = timingSafeEqual(given, expected.viewer)
    if (isOperator) return 'operator'
    return isViewer ? 'viewer' : null
  }
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
