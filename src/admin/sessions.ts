import { createHmac, hkdfSync, randomBytes } from 'node:crypto'
import { isSameSecret } from '../base/http/sign-in.ts'

/** Viewers may read everything, operators may do everything. */
export type Role = 'operator' | 'viewer'

export interface Tokens {
  readonly operator: string
  /** Undefined: no viewers. Never the same as the operator's. */
  readonly viewer?: string | undefined
}

export interface Session {
  readonly role: Role
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  readonly id: string
}

export const sessionHours = 12
const lifetimeMs = sessionHours * 3_600_000
/** Above this, forgetting an ended session also ends all sessions that expire no later. */
const maxEnded = 10_000

export type Sessions = ReturnType<typeof createSessions>

/**
 * Sessions of the console. They are signed, not stored: they survive a restart, are valid on all replicas, and end when a
 * token changes. Ended ones are remembered in memory until they expire.
 */
export function createSessions({ tokens, now }: { readonly tokens: Tokens; readonly now: () => number }) {
  const key = keyOf(tokens)
  const ended = new Map<string, number>()
  let endedUntil = -Infinity

  const sign = (payload: string) => `${payload}.${createHmac('sha256', key).update(payload).digest('base64url')}`

  function read(value: string): Session | null {
    const [payload = ''] = value.split('.')
    // Compares texts, because several base64url texts decode to the same bytes.
    if (!isSameSecret(value, sign(payload))) return null
    const { role, exp, id } = JSON.parse(Buffer.from(payload, 'base64url').toString()) as Payload
    return { role, expiresAt: exp, id }
  }

  function hasExpired({ expiresAt, id }: Session): boolean {
    return expiresAt <= now() || expiresAt <= endedUntil || ended.has(id)
  }

  return {
    /** Begins a session of 12 hours; `value` is for the cookie. */
    begin(role: Role): { readonly value: string; readonly session: Session } {
      const session = { role, expiresAt: now() + lifetimeMs, id: randomBytes(16).toString('base64url') }
      const payload: Payload = { role, exp: session.expiresAt, id: session.id }
      return { value: sign(Buffer.from(JSON.stringify(payload)).toString('base64url')), session }
    },
    /** The first valid session among the values; null if there is none. */
    find: (values: readonly string[]): Session | null =>
      values.map(read).find((session) => session !== null && !hasExpired(session)) ?? null,
    /** Idempotent. */
    end({ id, expiresAt }: Session): void {
      for (const [other, at] of ended) if (at <= now()) ended.delete(other)
      ended.set(id, expiresAt)
      if (ended.size <= maxEnded) return
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

/** Tokens contain no NUL, so different pairs of tokens give different keys. */
function keyOf({ operator, viewer = '' }: Tokens): Buffer {
  return Buffer.from(hkdfSync('sha256', `${operator}\0${viewer}`, 'onchain-inbox', 'sessions of the console 1', 32))
}

/** Returns the role of a token; null for an unknown token. */
export type RoleOf = (token: string) => Role | null

/** Always compares with both tokens, so that the time doesn't show whether there are viewers. */
export function createRoleOf({ operator, viewer = operator }: Tokens): RoleOf {
  return (token) => {
    const isOperator = isSameSecret(token, operator)
    const isViewer = isSameSecret(token, viewer)
    if (isOperator) return 'operator'
    return isViewer ? 'viewer' : null
  }
}
