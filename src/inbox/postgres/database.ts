import type pg from 'pg'
import { InboxError } from '../../base/errors.ts'
import { exclusiveLock } from './locks.ts'
import { type ConnectionOptions, cancelStatement, connectionConfig, createPool, createSockets } from './connection.ts'
import { classifyFailure, toStoreError } from './failure.ts'
import { type Health, type Listener, startPulse } from './pulse.ts'
import { toParameters, toStored } from './text.ts'

/** Runs statements with parameters `$1`, `$2` …; returns bigint as number and `bytea` as buffer. Converts texts: see text.ts. */
export interface Rows {
  query<R = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<R[]>
}

export interface Database extends Rows {
  /**
   * Runs one statement. Retries it if it certainly had no effect (deadlock, serialization failure, lock timeout). Throws
   * `store_unavailable` or `store_full`; the statement may have been executed then. Throws at once while the database is known to be
   * unavailable. `limitMs`: timeout, by default `statementMs`.
   */
  query<R = Record<string, unknown>>(text: string, values?: readonly unknown[], limitMs?: number): Promise<R[]>
  /**
   * Runs one exclusive transaction: nobody accepts, claims or settles during it. For bounded operator actions and job steps only, because
   * acknowledgements wait. `work` may be called more than once. Throws like `query`.
   */
  exclusively<T>(work: (trx: Rows) => Promise<T>): Promise<T>
  /** `query` on a reserved connection, for statements that must not wait for others. */
  readonly reserved: Pick<Database, 'query'>
  /** Whether the database recently responded and accepts writes. */
  health(): Health
  /** Waits for statements in progress, then closes the connections. Idempotent. */
  close(): Promise<void>
}

export interface DatabaseOptions extends ConnectionOptions {
  readonly connections?: number
  /** Receives notifications of other replicas. Default: doesn't listen. */
  readonly listener?: Listener
  /** For tests: time (milliseconds since 1970) that each statement sets as `inbox.now`, which the tests' `inbox.now_ms` reads. */
  readonly now?: () => number
  /** Timeout of a statement in milliseconds. Default 10,000. */
  readonly statementMs?: number
  /** Timeout of an exclusive transaction between two statements in milliseconds. Default 2,000. */
  readonly idleMs?: number
}

/** Maximum attempts of a statement that has no effect, such as after a deadlock. */
const maxAttempts = 5

/** Connections that are replaced together when the database becomes unavailable. */
interface Pools {
  readonly pool: pg.Pool
  /** Has one connection. */
  readonly reserved: pg.Pool
  readonly sockets: ReturnType<typeof createSockets>
  /** Rejects calls that wait for a response. */
  readonly abort: Set<(reason: Error) => void>
}

/** Connections to a database. Only the pulse connects before the first statement. */
export function createDatabase(options: DatabaseOptions): Database {
  const { connections = 10, statementMs = 10_000, idleMs = 2_000, now } = options
  const config = connectionConfig(options)
  let answeredAt = -Infinity
  let current = openPools()
  let closing: Promise<void> | undefined
  const pulse = startPulse({ config, answeredAt: () => answeredAt, onDown: replacePools, listener: options.listener })

  async function runStatement<R>(
    client: pg.PoolClient,
    text: string,
    values: readonly unknown[],
    limitMs: number,
  ): Promise<R[]> {
    if (now !== undefined) await client.query(`SET inbox.now = ${now()}`)
    return runWithLimit(client, text, values, limitMs)
  }

  function openPools(): Pools {
    const sockets = createSockets()
    const poolOf = (max: number) =>
      createPool({ ...config, stream: () => sockets.open(), max, idleTimeoutMillis: 30_000 })
    return { pool: poolOf(connections), reserved: poolOf(1), sockets, abort: new Set() }
  }

  function replacePools(reason: string): void {
    const { pool, reserved, sockets, abort } = current
    if (closing === undefined) current = openPools()
    for (const reject of abort) reject(new InboxError('store_unavailable', reason))
    sockets.destroy()
    for (const oldPool of [pool, reserved]) oldPool.end().catch(() => {})
  }

  async function attempt<T>(poolName: 'pool' | 'reserved', work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    await pulse.begun
    for (let attempts = 1; ; attempts++) {
      if (closing !== undefined) throw new InboxError('shutting_down', 'the inbox is closed')
      const health = pulse.health()
      if (!health.ok) throw new InboxError('store_unavailable', health.reason)
      try {
        return await unlessAborted(current, poolName, work)
      } catch (error) {
        const failure = classifyFailure(error)
        if (failure === 'again' && attempts < maxAttempts) continue
        if (failure === 'gone') pulse.poke()
        throw toStoreError(error)
      }
    }
  }

  function unlessAborted<T>(
    { abort, ...pools }: Pools,
    poolName: 'pool' | 'reserved',
    work: (client: pg.PoolClient) => Promise<T>,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      abort.add(reject)
      withClient(pools[poolName], work)
        .then(resolve, reject)
        .finally(() => abort.delete(reject))
    })
  }

  async function withClient<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await pool.connect()
    let broken: Error | undefined
    // A connection that ends between two statements must not be reused.
    const onError = (error: Error) => (broken = error)
    client.on('error', onError)
    try {
      const result = await work(client)
      answeredAt = performance.now()
      return result
    } catch (error) {
      if (classifyFailure(error) === 'gone') broken ??= error as Error
      else answeredAt = performance.now()
      throw error
    } finally {
      client.off('error', onError)
      client.release(broken)
    }
  }

  async function transact<T>(client: pg.PoolClient, work: (trx: Rows) => Promise<T>): Promise<T> {
    try {
      // One message, so that no transaction runs without its timeouts: a client that stops must not block others for long.
      const begin = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = ${statementMs}; SET LOCAL lock_timeout = 3000;
        SET LOCAL idle_in_transaction_session_timeout = ${idleMs}; SELECT ${exclusiveLock}`
      await runWithLimit(client, begin, [], statementMs)
      const result = await work({
        async query(text, values = []) {
          answeredAt = performance.now()
          return runStatement(client, text, values, statementMs + networkMs)
        },
      })
      // With a timeout, the server would end its wait for a standby and report success.
      await runWithLimit(client, 'SET LOCAL statement_timeout = 0; COMMIT', [], statementMs)
      return result
    } catch (error) {
      if (classifyFailure(error) !== 'gone') await runWithLimit(client, 'ROLLBACK', [], statementMs)
      throw error
    }
  }

  async function closeAll(): Promise<void> {
    const { pool, reserved, sockets } = current
    await Promise.all([pool.end(), reserved.end()])
    await pulse.stop()
    await sockets.ended()
  }

  return {
    query: (text, values = [], limitMs = statementMs) =>
      attempt('pool', (client) => runStatement(client, text, values, limitMs)),
    exclusively: (work) => attempt('pool', (client) => transact(client, work)),
    reserved: {
      query: (text, values = [], limitMs = statementMs) =>
        attempt('reserved', (client) => runStatement(client, text, values, limitMs)),
    },
    health: () => pulse.health(),
    close: () => (closing ??= closeAll()),
  }
}

/** Extra time for the response, in addition to the statement's timeout. */
const networkMs = 2_000

/**
 * Runs a statement with a timeout. Sessions have no timeout, because PgBouncer shares them. The client cancels a slow
 * statement, abandons one that doesn't respond, and doesn't reuse the connection.
 */
async function runWithLimit<R>(
  client: pg.PoolClient,
  text: string,
  values: readonly unknown[],
  limitMs: number,
): Promise<R[]> {
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    cancelStatement(client)
  }, limitMs)
  try {
    const statement = { text, values: toParameters(values), query_timeout: limitMs + networkMs }
    const { rows } = await client.query(statement)
    // The cancel request may still arrive and would hit the next statement. Also, a commit whose wait for a standby was cancelled looks
    // successful.
    if (isLate) throw new Error(`timeout exceeded: a statement took longer than ${limitMs} ms`)
    return rows as R[]
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Arrays in PostgreSQL's binary format. The driver would send them as quoted text, with bytes as hex, which costs both sides more than
 * processing them. The driver sends a buffer unchanged; the statement casts it to its type.
 */
const oids = { bytea: 17, bigint: 20, integer: 23, text: 25 } as const

const headerBytes = 20

/** `text[]` of stored texts. */
export function textArray(values: readonly (string | null)[]): Buffer {
  const maxSize = values.reduce((sum, value) => sum + (value?.length ?? 0) * 3, 0)
  const array = begin('text', values.length, maxSize)
  let at = headerBytes
  for (const value of values) {
    const length = value === null ? -1 : array.write(toStored(value), at + 4, 'utf8')
    at = array.writeInt32BE(length, at) + Math.max(0, length)
  }
  return array.subarray(0, at)
}

/** `bytea[]`. */
export function byteArray(values: readonly Uint8Array[]): Buffer {
  const size = values.reduce((sum, { length }) => sum + length, 0)
  const array = begin('bytea', values.length, size)
  let at = headerBytes
  for (const value of values) {
    at = array.writeInt32BE(value.length, at)
    array.set(value, at)
    at += value.length
  }
  return array
}

/** `integer[]`: 32-bit integers. */
export function integerArray(values: readonly (number | null)[]): Buffer {
  const array = begin('integer', values.length, values.length * 4)
  let at = headerBytes
  for (const value of values) {
    at = array.writeInt32BE(value === null ? -1 : 4, at)
    if (value !== null) at = array.writeInt32BE(value, at)
  }
  return array.subarray(0, at)
}

/** `bigint[]`: safe integers. */
export function bigintArray(values: readonly number[]): Buffer {
  const array = begin('bigint', values.length, values.length * 8)
  let at = headerBytes
  for (const value of values) {
    const high = Math.floor(value / 2 ** 32)
    at = array.writeInt32BE(8, at)
    at = array.writeInt32BE(high, at)
    at = array.writeUInt32BE(value - high * 2 ** 32, at)
  }
  return array
}

/** Allocates a one-dimensional array, indexed from 1, which may contain nulls, and writes its header. */
function begin(type: keyof typeof oids, length: number, size: number): Buffer {
  const array = Buffer.allocUnsafe(headerBytes + length * 4 + size)
  for (const [index, value] of [1, 1, oids[type], length, 1].entries()) array.writeInt32BE(value, index * 4)
  return array
}

/** Parses numbers separated by spaces, as from `array_to_string(…, ' ')`. Null is an empty list. */
export function numbersIn(text: string | null | undefined): number[] {
  return text === null || text === undefined || text === '' ? [] : text.split(' ').map(Number)
}
