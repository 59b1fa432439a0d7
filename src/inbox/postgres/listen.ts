import pg from 'pg'
import { messageOf } from '../../base/errors.ts'
import { connectionConfig, createSockets, hasSession } from './connection.ts'

export interface ListenOptions {
  readonly url: string
  /** What the server lists the connection as. */
  readonly applicationName?: string
  /** Some replica made runs claimable, or may have: at most once in 20 ms. */
  readonly onWake: () => void
  readonly onWarning: (text: string) => void
  /** How often the connection is asked whether it is still there, in milliseconds. Default 5,000. */
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
 * Listens on a connection of its own, in real time. It is a hint only: what it misses, while it is connected anew, is found by who polls.
 * Behind a PgBouncer it listens to nothing: a session that is lent to somebody else would be told in its place, for as long as it lasts.
 * Never throws; a failure that lasts is warned of once, and so is that there is no listening.
 */
export function listen({ url, applicationName, onWake, onWarning, keepAliveMs = 5_000 }: ListenOptions): Listener {
  const config = connectionConfig({ url, ...(applicationName !== undefined && { applicationName }) })
  const wake = calmed(onWake)
  let isClosed = false
  let isLent = false
  /** Ends what is being waited for. */
  let interrupt = () => {}
  const done = keepListening()

  async function keepListening(): Promise<void> {
    let failures = 0
    while (!isClosed && !isLent) {
      try {
        await listenUntilLost(() => {
          failures = 0
          // Nobody knows what was said while nobody listened.
          wake()
        })
      } catch (error) {
        failures++
        if (failures === warnAfter)
          onWarning(
            `new work is found by looking now and then, for PostgreSQL does not tell of it: ${messageOf(error)}`,
          )
      }
      if (!isClosed && !isLent) await pause(Math.min(backoffMs.most, backoffMs.first * 2 ** Math.min(failures, 10)))
    }
  }

  /** Rejects when the connection is lost; resolves once all is closed, or there is nothing to listen to. */
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
        // A connection that is only half there is as silent as one on which nothing is said: so it is asked.
        const keepAlive = () => {
          timer = setTimeout(() => void client.query('SELECT 1').then(keepAlive, reject), keepAliveMs).unref()
        }
        client
          .connect()
          .then(() => hasSession(client))
          .then(async (isOwn) => {
            if (!isOwn) {
              isLent = true
              onWarning(notTold)
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

const notTold =
  'what other replicas have for this one is found by looking every two seconds: PostgreSQL cannot tell of it through a pooler such as ' +
  'PgBouncer, which lends its sessions'

/** About 1.5 s without a connection. */
const warnAfter = 4

/** Calls at once, and then again where there was more, at most once in `calmMs`. */
function calmed(fn: () => void): (() => void) & { cancel(): void } {
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
