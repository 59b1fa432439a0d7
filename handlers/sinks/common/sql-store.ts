import type { Row } from './sql-row.ts'
import type { Table } from './sql-table.ts'

export interface SqlStoreOptions {
  readonly url: string
  readonly tables: readonly Table[]
  readonly statementTimeoutMs: number
  readonly connections: number
}

export interface SqlStore {
  /** Writes all rows in one transaction; rows of the same id are replaced. Durable once it has resolved. */
  put(rows: readonly Row[], signal: AbortSignal): Promise<void>
  close(): void | Promise<void>
}
