import type pg from 'pg'
import { InboxError } from '../../base/errors.ts'
import { actLock } from './locks.ts'
import {
  type ConnectionOptions,
  type Sockets,
  cancelStatement,
  connectionConfig,
  createPool,
  createSockets,
} from './connection.ts'
import { classifyFailure, toStoreError } from './failure.ts'
import { type Health, startPulse } from './pulse.ts'

/** Statements with parameters `$1`, `$2` …; whole numbers of 64 bits come as numbers, `bytea` as buffers. */
export interface Rows {
  query<R = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<R[]>
}

export interface Database extends Rows {
  /**
   * One statement by itself. It is tried again where it certainly did nothing (deadlock, serialization, a lock that was not had in time).
   * Throws `store_unavailable` or `store_full`; then it may have been done. While the database is known to be away, it throws at once.
   * `limitMs`: after so long it is given up, with `store_unavailable`; by default `statementMs`.
   */
  query<R = Record<string, unknown>>(text: string, values?: readonly unknown[], limitMs?: number): Promise<R[]>
  /**
   * One transaction, alone: nobody else accepts, claims, settles or acts meanwhile. For acts of people and steps of jobs, of a bounded
   * size: acknowledgements wait. `work` may be called more than once. Fails as `query` does.
   */
  alone<T>(work: (trx: Rows) => Promise<T>): Promise<T>
  /** The same as `query` on a connection that is there for this alone: for what must not wait until others are done. */
  readonly apart: Pick<Database, 'query'>
  /** Whether the database answers and takes writes, as of a moment ago. */
  health(): Health
  /** Waits for what is under way, then closes its connections. Idempotent. */
  close(): Promise<void>
}

export interface DatabaseOptions extends ConnectionOptions {
  readonly connections?: number
  /** For tests: the time, in milliseconds since 1970, that each statement sets as `inbox.now`, for the `inbox.now_ms` of the tests. */
  readonly now?: () => number
  /** Milliseconds for one statement. */
  readonly statementMs?: number
}

const mostTries = 5

/** The connections of a time in which the database was there: when it goes away, none of them is used again. */
interface Era {
  readonly pool: pg.Pool
  /** Of one connection. */
  readonly apart: pg.Pool
  readonly sockets: Sockets
  /** Gives up what waits for an answer. */
  readonly giveUp: Set<(reason: Error) => void>
}

/** A pool of connections to the database that a URL names. Only the pulse connects before the first statement. */
export function createDatabase(options: DatabaseOptions): Database {
  const { connections = 10, statementMs = 10_000, now } = options
  const config = connectionConfig(options)
  let answeredAt = -Infinity
  let era = openEra()
  let closing: Promise<void> | undefined
  const pulse = startPulse({ config, answeredAt: () => answeredAt, onDown: endEra })

  async function ask<R>(
    client: pg.PoolClient,
    text: string,
    values: readonly unknown[],
    limitMs: number,
  ): Promise<R[]> {
    if (now !== undefined) await client.query(`SET inbox.now = ${now()}`)
    return askWithin(client, text, values, limitMs)
  }

  function openEra(): Era {
    const sockets = createSockets()
    const poolOf = (max: number) => createPool({ ...config, stream: sockets.open, max, idleTimeoutMillis: 30_000 })
    return { pool: poolOf(connections), apart: poolOf(1), sockets, giveUp: new Set() }
  }

  function endEra(reason: string): void {
    const { pool, apart, sockets, giveUp } = era
    if (closing === undefined) era = openEra()
    for (const reject of giveUp) reject(new InboxError('store_unavailable', reason))
    sockets.destroy()
    for (const one of [pool, apart]) one.end().catch(() => {})
  }

  async function attempt<T>(of: 'pool' | 'apart', work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    await pulse.begun
    for (let tries = 1; ; tries++) {
      if (closing !== undefined) throw new InboxError('shutting_down', 'the inbox is closed')
      const health = pulse.health()
      if (!health.ok) throw new InboxError('store_unavailable', health.reason)
      try {
        return await unlessGivenUp(era, of, work)
      } catch (error) {
        const failure = classifyFailure(error)
        if (failure === 'again' && tries < mostTries) continue
        if (failure === 'gone') pulse.poke()
        throw toStoreError(error)
      }
    }
  }

  function unlessGivenUp<T>(
    { giveUp, ...pools }: Era,
    of: 'pool' | 'apart',
    work: (client: pg.PoolClient) => Promise<T>,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      giveUp.add(reject)
      withClient(pools[of], work)
        .then(resolve, reject)
        .finally(() => giveUp.delete(reject))
    })
  }

  async function withClient<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await pool.connect()
    let broken: Error | undefined
    // One that ends between two statements is not to be lent again.
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
      // In one message: what begins a transaction is not to be left without its limits. A client that stops holds nobody up for long.
      const begin = `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = ${statementMs}; SET LOCAL lock_timeout = 3000;
        SET LOCAL idle_in_transaction_session_timeout = 2000; SELECT ${actLock}`
      await askWithin(client, begin, [], statementMs)
      const result = await work({ query: (text, values = []) => ask(client, text, values, statementMs + networkMs) })
      // The server's limit would end the wait for a standby, and say that all is well.
      await askWithin(client, 'SET LOCAL statement_timeout = 0; COMMIT', [], statementMs)
      return result
    } catch (error) {
      if (classifyFailure(error) !== 'gone') await askWithin(client, 'ROLLBACK', [], statementMs)
      throw error
    }
  }

  async function closeAll(): Promise<void> {
    const { pool, apart, sockets } = era
    await Promise.all([pool.end(), apart.end()])
    await pulse.stop()
    await sockets.ended()
  }

  return {
    query: (text, values = [], limitMs = statementMs) =>
      attempt('pool', (client) => ask(client, text, values, limitMs)),
    alone: (work) => attempt('pool', (client) => transact(client, work)),
    apart: {
      query: (text, values = [], limitMs = statementMs) =>
        attempt('apart', (client) => ask(client, text, values, limitMs)),
    },
    health: () => pulse.health(),
    close: () => (closing ??= closeAll()),
  }
}

/** Room for the answer, beyond what the statement may take. */
const networkMs = 2_000

/**
 * No session has a limit of its own, for behind a PgBouncer it would be anybody's: what takes too long is cancelled from here, and what
 * does not even answer that is left. Its connection is not used again.
 */
async function askWithin<R>(
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
    // `values` is copied, for the driver wants one of its own.
    const statement = { text, values: [...values], query_timeout: limitMs + networkMs }
    const { rows } = await client.query(statement)
    // The cancel is on its way, and would hit what comes next on this connection; and a commit that it cut short in its wait for a standby
    // looks like any other.
    if (isLate) throw new Error(`timeout exceeded: a statement took longer than ${limitMs} ms`)
    return rows as R[]
  } finally {
    clearTimeout(timer)
  }
}

/** The same database with at most so many statements and transactions under way; the others wait for their turn. What is left is for others. */
export function limited(db: Database, most: number): Database {
  let free = most
  const waiting: (() => void)[] = []

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (free > 0) free--
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free++
      else next()
    }
  }

  return {
    ...db,
    query: (text, values, limitMs) => inTurn(() => db.query(text, values, limitMs)),
    alone: (work) => inTurn(() => db.alone(work)),
  }
}

/**
 * Arrays as PostgreSQL takes them in binary form. The driver would write them as text, with each element quoted and bytes as hex, which
 * costs both sides more than what is done with them. A parameter that is a buffer is sent as it is; the statement names its type.
 */
const oids = { boolean: 16, bytea: 17, bigint: 20, integer: 23, text: 25 } as const

const headerBytes = 20

/** `text[]`. No text may have U+0000: see `toStored`. */
export function textArray(values: readonly (string | null)[]): Buffer {
  const most = values.reduce((sum, value) => sum + (value?.length ?? 0) * 3, 0)
  const array = begin('text', values.length, most)
  let at = headerBytes
  for (const value of values) {
    const length = value === null ? -1 : array.write(value, at + 4, 'utf8')
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

/** `integer[]`: whole numbers of 32 bits. */
export function integerArray(values: readonly (number | null)[]): Buffer {
  const array = begin('integer', values.length, values.length * 4)
  let at = headerBytes
  for (const value of values) {
    at = array.writeInt32BE(value === null ? -1 : 4, at)
    if (value !== null) at = array.writeInt32BE(value, at)
  }
  return array.subarray(0, at)
}

/** `bigint[]`: whole numbers that JavaScript has exactly. */
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

/** `boolean[]`. */
export function booleanArray(values: readonly boolean[]): Buffer {
  const array = begin('boolean', values.length, values.length)
  let at = headerBytes
  for (const value of values) {
    at = array.writeInt32BE(1, at)
    at = array.writeUInt8(value ? 1 : 0, at)
  }
  return array
}

/** Of one dimension, counted from 1; nulls may be among the elements. */
function begin(type: keyof typeof oids, length: number, size: number): Buffer {
  const array = Buffer.allocUnsafe(headerBytes + length * 4 + size)
  for (const [index, value] of [1, 1, oids[type], length, 1].entries()) array.writeInt32BE(value, index * 4)
  return array
}

/** What `array_to_string(…, ' ')` gives of an array of numbers; null is an empty one. */
export function numbersIn(text: string | null | undefined): number[] {
  return text === null || text === undefined || text === '' ? [] : text.split(' ').map(Number)
}
