import pg from 'pg'
import { setImmediate as turn } from 'node:timers/promises'
import { InboxError, messageOf } from '../../base/errors.ts'
import { createSockets } from './connection.ts'
import { codeOf } from './failure.ts'

export type Health = { readonly ok: true } | { readonly ok: false; readonly reason: string }

export interface PulseOptions {
  /** Options of the pulse's own connection. */
  readonly config: pg.ClientConfig
  /** `performance.now()` of the latest response to any other statement. */
  readonly answeredAt: () => number
  /** Called when the database becomes unavailable: calls that wait for it should fail. */
  readonly onDown: (reason: string) => void
}

/** Distinguishes an unavailable database from a slow one, with a query that a slow database answers at once. Uses real time. */
export interface Pulse {
  /** Resolves after the first check. */
  readonly begun: Promise<void>
  health(): Health
  /** Checks now, because a statement failed. */
  poke(): void
  stop(): Promise<void>
}

/** A delivery must get a response within a second after the database goes silent. The sum of both leaves some room. */
const everyMs = 250
const silentMs = 600
const stepMs = 50
/**
 * Timeout for connecting: the database may be far away and use TLS. The pulse stops waiting earlier, if connecting takes longer than
 * `silentMs` and `muchLonger` times the fastest connection so far.
 */
const connectMs = 2_000
const muchLonger = 2

const tooMany = '53300'

export function startPulse({ config, answeredAt, onDown }: PulseOptions): Pulse {
  const sockets = createSockets()
  let health: Health = { ok: true }
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let wasHere = false
  /** Fastest connection so far, in milliseconds. */
  let usualMs = connectMs
  let stopped = false
  let looking = look()
  const begun = looking

  async function look(): Promise<void> {
    const begunAt = performance.now()
    const isDeaf = () => answeredAt() < begunAt && !stopped
    try {
      client ??= await connect(() => {
        if (wasHere && isDeaf()) down('no connection in time')
      })
      if (await isReadOnly(client)) {
        throw new InboxError('store_unavailable', 'it is read-only: a standby, or set to read-only')
      }
      health = { ok: true }
      wasHere = true
    } catch (error) {
      client = undefined
      sockets.destroy()
      // Lets responses to other statements be read that have already arrived.
      await turn()
      const isAway = codeOf(error) !== tooMany && (isDeaf() || error instanceof InboxError)
      if (isAway && !stopped) down(messageOf(error))
    }
    if (!stopped) timer = setTimeout(again, everyMs).unref()
  }

  function again(): void {
    timer = undefined
    looking = look()
  }

  function down(reason: string): void {
    const wasUp = health.ok
    const text = `PostgreSQL cannot be reached: ${reason}`
    health = { ok: false, reason: text }
    if (wasUp) onDown(text)
  }

  async function connect(onSilence: () => void): Promise<pg.Client> {
    const fresh = new pg.Client({ ...config, stream: sockets.open, connectionTimeoutMillis: connectMs })
    // If only this connection ends, the next check opens another.
    fresh.on('error', () => {
      if (client === fresh) client = undefined
    })
    const begunAt = performance.now()
    const answered = afterSilence(onSilence, Math.max(silentMs, muchLonger * usualMs))
    await fresh.connect().finally(answered)
    usualMs = Math.min(usualMs, performance.now() - begunAt)
    return fresh
  }

  return {
    begun,
    health: () => health,
    poke() {
      if (timer === undefined || stopped) return
      clearTimeout(timer)
      again()
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await looking
      client?.end().catch(() => {})
      await sockets.ended()
    },
  }
}

async function isReadOnly(client: pg.Client): Promise<boolean> {
  const silence = Promise.withResolvers<never>()
  const answered = afterSilence(() => silence.reject(new Error(`no answer within ${silentMs} ms`)), silentMs)
  const answer = client.query<{ value: string }>(`SELECT current_setting('transaction_read_only') AS value`)
  answer.catch(() => {})
  const { rows } = await Promise.race([answer, silence.promise]).finally(answered)
  return rows[0]?.value !== 'off'
}

/** Calls back after a time, in small steps: on a busy machine, the timer is slowed down like the responses. */
function afterSilence(onSilence: () => void, ms: number): () => void {
  let steps = Math.ceil(ms / stepMs)
  let timer = setTimeout(step, stepMs)
  let last: NodeJS.Immediate | undefined
  function step(): void {
    if (--steps > 0) timer = setTimeout(step, stepMs)
    // This process may have stood still itself, so responses that have arrived are read first.
    else last = setImmediate(onSilence)
  }
  return () => {
    clearTimeout(timer)
    clearImmediate(last)
  }
}
