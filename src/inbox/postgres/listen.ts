import pg from 'pg'
import { messageOf } from '../../base/errors.ts'
import { connectionConfig, createSockets, hasSession } from './connection.ts'
import type { OnWarning } from '../types.ts'

export interface ListenOptions {
  readonly url: string
  /** `application_name` of the connection. */
  readonly applicationName?: string
  /** Called when a replica may have made runs claimable, at most every 20 ms. */
  readonly onWake: () => void
  readonly onWarning: OnWarning
  /** Interval in milliseconds for checking the connection. Default 5,000. */
  readonly keepAliveMs?: number
}

export interface Listener {
  close(): Promise<void>
}

const channel = 'inbox_wake'
const calmMs = 20
const answerMs = 2_000
const backoffMs = { first: 100, most: 2_000 }

/**
 * Listens for notifications on its own connection. Notifications are hints: those missed during a reconnect are found by polling. Doesn't
 * listen behind PgBouncer, where the notifications of a shared session would go to other clients. Never throws. Warns once of a lasting
 * failure, and once if it can't listen.
 */
export function listen({ url, applicationName, onWake, onWarning, keepAliveMs = 5_000 }: ListenOptions): Listener {
  const config = connectionConfig({ url, ...(applicationName !== undefined && { applicationName }) })
  const wake = throttled(onWake)
  let isClosed = false
  let isLent = false
  /** Ends the current wait. */
  let interrupt = () => {}
  const done = keepListening()

  async function keepListening(): Promise<void> {
    let failures = 0
    while (!isClosed && !isLent) {
      try {
        await listenUntilLost(() => {
          failures = 0
          // Notifications may have been missed before.
          wake()
        })
      } catch (error) {
        failures++
        if (failures === warnAfter) onWarning('listening failed, polling instead', { error: messageOf(error) })
      }
      if (!isClosed && !isLent) await pause(Math.min(backoffMs.most, backoffMs.first * 2 ** Math.min(failures, 10)))
    }
  }

  /** Rejects when the connection is lost. Resolves on `close`, or if it can't listen. */
  async function listenUntilLost(onListening: () => void): Promise<void> {
    const sockets = createSockets()
    const client = new pg.Client({ ...config, stream: sockets.open, query_timeout: answerMs })
    let timer: NodeJS.Timeout | undefined
    try {
      await new Promise<void>((resolve, reject) => {
        interrupt = resolve
        client.on('error', reject)
        client.on('end', () => reject(new Error('the connection was closed')))
        client.on('notification', wake)
        // A half-open connection looks the same as a quiet one, so it is checked.
        const keepAlive = () => {
          timer = setTimeout(() => void client.query('SELECT 1').then(keepAlive, reject), keepAliveMs).unref()
        }
        client
          .connect()
          .then(() => hasSession(client))
          .then(async (isOwn) => {
            if (!isOwn) {
              isLent = true
              onWarning('pooler prevents notifications, polling instead', { pollMs: 2_000 })
              return resolve()
            }
            await client.query(`LISTEN ${channel}`)
            onListening()
            keepAlive()
          })
          .catch(reject)
      })
      client.end().catch(() => {})
      await sockets.ended()
    } finally {
      clearTimeout(timer)
      sockets.destroy()
    }
  }

  async function pause(ms: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      interrupt = resolve
      timer = setTimeout(resolve, ms).unref()
    })
    clearTimeout(timer)
  }

  return {
    async close() {
      isClosed = true
      wake.cancel()
      interrupt()
      await done
    },
  }
}

/** Failed attempts before the warning: about 1.5 s without a connection. */
const warnAfter = 4

/** Calls `fn` at once, and once more after `calmMs` if it was called again in the meantime. */
function throttled(fn: () => void): (() => void) & { cancel(): void } {
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
    }, calmMs).unref()
    fn()
  }
  return Object.assign(call, { cancel: () => clearTimeout(timer) })
}
