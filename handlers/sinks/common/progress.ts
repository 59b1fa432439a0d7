import type { Outgoing } from './digest.ts'

/** What has been sent of items whose send did not end well. */
export interface Progress {
  isSent(id: string): boolean
  /** How many parts of the item have been sent. */
  partsSent(id: string): number
  sent(message: Pick<Outgoing, 'ids' | 'index' | 'isLast'>): void
  forget(ids: readonly string[]): void
}

/** Beyond that the oldest are forgotten, and would be sent again: nothing is lost. */
const mostRemembered = 10_000

/** Kept in memory: after a restart it is empty. */
export function createProgress(): Progress {
  const parts = new Map<string, number>()
  return {
    isSent: (id) => parts.get(id) === Infinity,
    partsSent: (id) => parts.get(id) ?? 0,
    sent({ ids, index, isLast }) {
      for (const id of ids) parts.set(id, isLast ? Infinity : index + 1)
      for (const id of parts.keys()) {
        if (parts.size <= mostRemembered) break
        parts.delete(id)
      }
    },
    forget(ids) {
      for (const id of ids) parts.delete(id)
    },
  }
}
