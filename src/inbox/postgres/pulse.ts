import pg from 'pg'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { codeOf, InboxError, messageOf } from '../../base/errors.ts'
import type { OnWarning } from '../types.ts'
import { createSockets } from './connection.ts'

export type Health = { readonly ok: true } | { readonly ok: false; readonly reason: string }

/** Receives notifications of other replicas. They are hints: those missed during a reconnect are found by polling. */
export interface Listener {
  /** Called when a replica may have made runs claimable, at most every 20 ms. */
  readonly onWake: () => void
  readonly onWarning: OnWarning
}

export interface PulseOptions {
  /** Options of the pulse's own connection. */
  readonly config: pg.ClientConfig
  /** `performance.now()` of the latest response to any other statement. */
  readonly answeredAt: () => number
  /** Called when the database becomes unavailable: calls that wait for it should fail. */
  readonly onDown: (reason: string) => void
  readonly listener?: Listener | undefined
}

/** Interval and timeout of the checks. Their sum is below a second: a delivery gets its response within a second of an outage. */
const intervalMs = 250
const silentMs = 600
const stepMs = 50
/**
 * Timeout for connecting: the database may be far away and use TLS. The pulse stops waiting earlier, if connecting takes longer than
 * `silentMs` and `slowFactor` times the fastest connection so far.
 */
const connectMs = 2_000
const slowFactor = 2

const tooManyConnections = '53300'

const channel = 'inbox_wake'
const wakeMs = 20
/** Maximum wait of another replica's work without notifications: see `claims.ts`. */
const pollMs = 2_000

/**
 * Distinguishes an unavailable database from a slow one, with a query that a slow database answers at once. Also listens for notifications
 * on that connection, except behind PgBouncer, where notifications of a shared session would go to other clients. Uses real time.
 */
export function startPulse({ config, answeredAt, onDown, listener }: PulseOptions) {
  const sockets = createSockets()
  const wake = throttled(() => {
    if (!stopped) listener?.onWake()
  })
  let isListening = listener !== undefined
  let health: Health = { ok: true }
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let wasReachable = false
  /** Fastest connection so far, in milliseconds. */
  let fastestMs = connectMs
  let stopped = false
  let checking = check()
  const begun = checking

  async function check(): Promise<void> {
    const begunAt = performance.now()
    const isUnanswered = () => answeredAt() < begunAt && !stopped
    const isNew = client === undefined
    try {
      // `client` becomes undefined if the connection ends between two statements.
      const connection = (client ??= await connect(() => {
        if (wasReachable && isUnanswered()) down('no connection in time')
      }))
      const [row] = await ask<{ value: string }>(connection, `SELECT current_setting('transaction_read_only') AS value`)
      if (row?.value !== 'off') {
        throw new InboxError('store_unavailable', 'it is read-only: a standby, or set to read-only')
      }
      if (isNew && isListening) await listen(connection)
      health = { ok: true }
      wasReachable = true
    } catch (error) {
      client = undefined
      sockets.destroy()
      // Reads responses to other statements that have already arrived.
      await nextTurn()
      const isUnreachable = codeOf(error) !== tooManyConnections && (isUnanswered() || error instanceof InboxError)
      if (isUnreachable && !stopped) down(messageOf(error))
    }
    if (!stopped) timer = setTimeout(again, intervalMs).unref()
  }

  function again(): void {
    timer = undefined
    checking = check()
  }

  function down(reason: string): void {
    const wasUp = health.ok
    const text = `PostgreSQL cannot be reached: ${reason}`
    health = { ok: false, reason: text }
    if (wasUp) onDown(text)
  }

  async function connect(onTimeout: () => void): Promise<pg.Client> {
    const newClient = new pg.Client({ ...config, stream: () => sockets.open(), connectionTimeoutMillis: connectMs })
    // If only this connection ends, the next check opens another.
    newClient.on('error', () => {
      if (client === newClient) client = undefined
    })
    const begunAt = performance.now()
    const cancel = startTimeout(onTimeout, Math.max(silentMs, slowFactor * fastestMs))
    await newClient.connect().finally(cancel)
    fastestMs = Math.min(fastestMs, performance.now() - begunAt)
    return newClient
  }

  async function listen(on: pg.Client): Promise<void> {
    const [row] = await ask<{ pid: number }>(on, 'SELECT pg_backend_pid() AS pid')
    // The driver's types omit this property. Behind a pooler, it is not the server's process id.
    isListening = row?.pid === (on as unknown as { readonly processID?: number }).processID
    if (!isListening) return listener?.onWarning('pooler prevents notifications, polling instead', { pollMs })
    on.on('notification', wake)
    await ask(on, `LISTEN ${channel}`)
    // Notifications before LISTEN were missed.
    wake()
  }

  return {
    /** Resolves after the first check. */
    begun,
    health: () => health,
    /** Checks now, because a statement failed. */
    poke(): void {
      if (timer === undefined || stopped) return
      clearTimeout(timer)
      again()
    },
    async stop(): Promise<void> {
      stopped = true
      wake.cancel()
      clearTimeout(timer)
      await checking
      client?.end().catch(() => {})
      await sockets.ended()
    },
  }
}

/** Runs a statement. Throws if no response arrives in time. */
async function ask<R extends pg.QueryResultRow>(client: pg.Client, text: string): Promise<R[]> {
  const answer = client.query<R>(text)
  answer.catch(() => {})
  // Created after the query: if the query throws, nobody would handle the rejection.
  const timeout = Promise.withResolvers<never>()
  const cancel = startTimeout(() => timeout.reject(new Error(`no answer within ${silentMs} ms`)), silentMs)
  const { rows } = await Promise.race([answer, timeout.promise]).finally(cancel)
  return rows
}

/** A timeout in small steps, which a busy machine slows down like the responses. Returns a function that cancels it. */
function startTimeout(onTimeout: () => void, ms: number): () => void {
  let steps = Math.ceil(ms / stepMs)
  let timer = setTimeout(step, stepMs)
  let last: NodeJS.Immediate | undefined
  function step(): void {
    if (--steps > 0) timer = setTimeout(step, stepMs)
    // This process may have stood still itself, so responses that have arrived are read first.
    else last = setImmediate(onTimeout)
  }
  return () => {
    clearTimeout(timer)
    clearImmediate(last)
  }
}

/** Calls `fn` at once, and once more after `wakeMs` if it was called again in the meantime. */
function throttled(fn: () => void) {
  let timer: NodeJS.Timeout | undefined
  let again = false
  function call(): void {
    if (timer !== undefined) {
      again = true
      return
    }
    again = false
    timer = setTimeout(() => {
      timer = undefined
      if (again) call()
    }, wakeMs).unref()
    fn()
  }
  return Object.assign(call, { cancel: () => clearTimeout(timer) })
}
