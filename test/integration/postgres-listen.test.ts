import { expect, onTestFinished, test } from 'vitest'
import { createDatabase } from '../../src/inbox/postgres/database.ts'
import { ask } from '../support/postgres.ts'
import { usePostgres } from '../support/postgres-inboxes.ts'
import { startProxy, terminatedMessage } from '../support/proxy.ts'
import { until } from '../support/until.ts'

const server = usePostgres()

/** A database that listens for notifications. `port`: of a proxy. */
async function open(url: string, port?: number) {
  const wakes: number[] = []
  const listener = { onWake: () => void wakes.push(performance.now()), onWarning: () => {} }
  const to = Object.assign(new URL(url), port !== undefined && { port: String(port) }).href
  const db = createDatabase({ url: to, applicationName: 'listening', listener })
  onTestFinished(() => db.close())
  const untilWakes = (count: number) => until(() => wakes.length >= count, `it woke ${count} times`)
  await untilWakes(1)
  return { db, wakes, untilWakes }
}

const notify = (url: string) => ask(url, `SELECT pg_notify('inbox_wake', '')`)

test('wakes when it listens, for notifications, and after a reconnect', async () => {
  const url = await server.createDatabase()
  const { untilWakes } = await open(url)
  await notify(url)
  await untilWakes(2)
  const ended = await ask(
    url,
    `SELECT pg_terminate_backend(pid, 5000) AS it FROM pg_stat_activity WHERE application_name = 'listening' AND datname = current_database()`,
  )
  expect(ended).toEqual([{ it: true }])
  await untilWakes(3)
  await notify(url)
  await untilWakes(4)
})

test('wakes a few times for many notifications, also for the last', async () => {
  const url = await server.createDatabase()
  const { wakes } = await open(url)
  // One notification per transaction, because PostgreSQL merges equal ones.
  await ask(url, Array.from({ length: 500 }, () => `NOTIFY inbox_wake; COMMIT; BEGIN`).join(';'))
  const lastAt = performance.now()
  await notify(url)
  await until(() => (wakes.at(-1) ?? 0) > lastAt, 'it woke for the last')
  const [first = 0, last = 0] = [wakes[0], wakes.at(-1)]
  expect(wakes.length).toBeLessThanOrEqual(2 + (last - first) / 15)
})

test('replaces a half-open connection', async () => {
  const url = await server.createDatabase()
  await using proxy = await startProxy(Number(new URL(url).port))
  const { untilWakes } = await open(url, proxy.port)
  proxy.stall()
  await until(() => proxy.connections > 1, 'it opens another connection')
  proxy.resume()
  await untilWakes(2)
})

test('begins anew if its connection ends between two statements, and no rejection is unhandled', async () => {
  const url = await server.createDatabase()
  let checks = 0
  const endFirst = (chunk: Buffer) => {
    if (!chunk.includes('value\0')) return chunk
    return ++checks === 1 ? Buffer.concat([chunk, terminatedMessage]) : chunk
  }
  await using proxy = await startProxy(Number(new URL(url).port), { change: endFirst })
  await open(url, proxy.port)
  expect(proxy.connections).toBe(2)
  // Checks are 250 ms apart. The pulse waits up to 600 ms for a response.
  await until(() => checks >= 5, 'it checks on')
})

test('does not wake after it was closed', async () => {
  const url = await server.createDatabase()
  const [closed, other] = [await open(url), await open(url)]
  await closed.db.close()
  const count = closed.wakes.length
  await notify(url)
  await other.untilWakes(2)
  expect(closed.wakes.length).toBe(count)
})
