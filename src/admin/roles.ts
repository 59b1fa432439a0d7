import { hash, timingSafeEqual } from 'node:crypto'

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
