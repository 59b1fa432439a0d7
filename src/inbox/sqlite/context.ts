import type { Database } from 'better-sqlite3'
import type { Clock } from '../../base/clock.ts'
import type { HandlerTable } from './handlers.ts'
import type { Statements } from './statements.ts'
import type { WriterCounters } from './writer-counters.ts'

/** Shared by the parts of a store. */
export interface StoreContext {
  readonly db: Database
  readonly sql: Statements
  readonly clock: Clock
  readonly counters: WriterCounters
  readonly handlers: HandlerTable
}
