import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { listen } from '../../src/inbox/postgres/listen.ts'
import { ask } from '../support/postgres.ts'
import { usePostgres } from '../support/postgres-inboxes.ts'
import { startProxy } from '../support/proxy.ts'
import { until } from '../support/until.ts'

const server = usePostgres()
let url: string
beforeAll(async () => {
  url = await server.createDatabase()
})

function start(to: string, applicationName: string) {
  const wakes: number[] = []
  const warnings: string[] = []
  const onWake = () => void wakes.push(performance.now())
  const opened = listen({
    url: to,
    applicationName,
    onWake,
    onWarning: (message, details) => void warnings.push(`${message} ${JSON.stringify(details)}`),
    keepAliveMs: 100,
  })
  onTestFinished(() => opened.close())
  return { wakes, warnings, close: () => opened.close() }
}

const notify = () => ask(url, `SELECT pg_notify('inbox_wake', '')`)
const untilWakes = ({ wakes }: ReturnType<typeof start>, count: number) =>
  until(() => wakes.length >= count, `it woke ${count} times`)

test('wakes a few times for many notifications, also for the last', async () => {
  const listener = start(url, 'calm')
  await untilWakes(listener, 1)
  // One notification per transaction, because PostgreSQL merges equal ones.
  await ask(url, Array.from({ length: 500 }, () => `NOTIFY inbox_wake; COMMIT; BEGIN`).join(';'))
  const lastAt = performance.now()
  await notify()
  await until(() => (listener.wakes.at(-1) ?? 0) > lastAt, 'it woke for the last')
  const [first = 0, last = 0] = [listener.wakes[0], listener.wakes.at(-1)]
  expect(listener.wakes.length).toBeLessThanOrEqual(2 + (last - first) / 15)
})

test('wakes when it listens, for notifications, and after a reconnect', async () => {
  const listener = start(url, 'ended')
  await untilWakes(listener, 1)
  await notify()
  await untilWakes(listener, 2)
  const ended = await ask(
    url,
    `SELECT pg_terminate_backend(pid, 5000) AS it FROM pg_stat_activity WHERE application_name = 'ended'`,
  )
  expect(ended).toEqual([{ it: true }])
  await untilWakes(listener, 3)
  await notify()
  await untilWakes(listener, 4)
  expect(listener.warnings).toEqual([])
})

test('replaces a half-open connection', async () => {
  await using proxy = await startProxy(Number(new URL(url).port))
  const through = new URL(url)
  through.port = String(proxy.port)
  const listener = start(through.href, 'half-open')
  await untilWakes(listener, 1)
  proxy.stall()
  await until(() => proxy.connections > 1, 'it opens another connection')
  proxy.resume()
  await untilWakes(listener, 2)
})

test('warns once if it cannot connect', async () => {
  const away = new URL(url)
  away.port = '1'
  const listener = start(away.href, 'away')
  await until(() => listener.warnings.length > 0, 'it warns')
  expect(listener.warnings).toEqual([expect.stringContaining('ECONNREFUSED')])
})

test('does not wake after it was closed', async () => {
  const listener = start(url, 'closed')
  await listener.close()
  const count = listener.wakes.length
  await notify()
  const other = start(url, 'other')
  await untilWakes(other, 1)
  await notify()
  await untilWakes(other, 2)
  expect(listener.wakes.length).toBe(count)
})
