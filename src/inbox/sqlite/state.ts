import type { Clock } from '../../base/clock.ts'
import { purgedPerWrite } from '../limits.ts'
import { afterKey, prefixEnd } from '../state-keys.ts'
import type { StateEntry, StateQuery, StateRead, StateWrite } from '../port.ts'
import type { Statements } from './statements.ts'

export type StateTable = ReturnType<typeof createStateTable>

/** State of handlers: reads, conflict checks and writes. */
export function createStateTable(sql: Statements, clock: Clock) {
  function read(handlerId: number, query: StateQuery): StateEntry[] {
    const now = clock.now()
    if ('key' in query) return sql.stateOf.all(handlerId, query.key, now)
    const { prefix, after, limit } = query
    const from = after === null ? prefix : afterKey(after, prefix)
    return sql.stateBetween.all(handlerId, from, prefixEnd(prefix), now, limit)
  }

  function isUnchanged(handlerId: number, { query, found }: StateRead): boolean {
    const now = read(handlerId, query)
    return (
      now.length === found.length &&
      now.every(({ key, version }, index) => found[index]?.key === key && found[index].version === version)
    )
  }

  return {
    read,
    areUnchanged: (handlerId: number, reads: readonly StateRead[]) =>
      reads.every((earlier) => isUnchanged(handlerId, earlier)),
    write(handlerId: number, version: number, writes: readonly StateWrite[]): void {
      for (const { key, value, expiresAt } of writes) {
        if (value === null) sql.deleteState.run(handlerId, key)
        else sql.putState.run(handlerId, key, value, version, expiresAt)
        if (expiresAt === null) continue
        for (const expired of sql.expiredState.all(clock.now(), purgedPerWrite)) {
          sql.deleteState.run(expired.handlerId, expired.key)
        }
      }
    },
  }
}
