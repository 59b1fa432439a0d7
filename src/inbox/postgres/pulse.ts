import pg from 'pg'
import { setImmediate as turn } from 'node:timers/promises'
import { InboxError, messageOf } from '../../base/errors.ts'
import { createSockets } from './connection.ts'
import { codeOf } from './failure.ts'

export type Health = { readonly ok: true } | { readonly ok: false; readonly reason: string }

export interface PulseOptions {
  /** For a connection of its own. */
  readonly config: pg.ClientConfig
  /** When the database last answered anything else, as `performance.now()`. */
  readonly answeredAt: () => number
  /** The database is away: whatever waits for it waits in vain. */
  readonly onDown: (reason: string) => void
}

/** Tells a database that is away from one that is slow, by a question that is answered at once unless it is away. Real time. */
export interface Pulse {
  /** Resolves after the first look. */
  readonly begun: Promise<void>
  health(): Health
  /** Something failed: looks now. */
  poke(): void
  stop(): Promise<void>
}

/** A request is to be answered within a second of the moment from which the database is silent: both together, and some room. */
const everyMs = 250
const silentMs = 600
const stepMs = 50
/**
 * A connection may take so long, for there may be an ocean and a handshake in between. One that takes longer than `silentMs`, and much
 * longer than others took, is not waited for.
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
  /** How long a connection takes where nothing is in its way. */
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
        throw new InboxError('store_unavailable', 'it takes no writes: it is a standby, or was set so')
      }
      health = { ok: true }
      wasHere = true
    } catch (error) {
      client = undefined
      sockets.destroy()
      // Others may have had an answer meanwhile, which only waits to be read.
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
    // A connection alone may end as well: the next look has another.
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

/** Calls back after a time, in small steps: on a machine that is busy with something else, answers take longer as they do. */
function afterSilence(onSilence: () => void, ms: number): () => void {
  let steps = Math.ceil(ms / stepMs)
  let timer = setTimeout(step, stepMs)
  let last: NodeJS.Immediate | undefined
  function step(): void {
    if (--steps > 0) timer = setTimeout(step, stepMs)
    // This process may itself have stood still: what has come meanwhile is read first.
    else last = setImmediate(onSilence)
  }
  return () => {
    clearTimeout(timer)
    clearImmediate(last)
  }
}
