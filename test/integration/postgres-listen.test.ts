import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { listen } from '../../src/inbox/postgres/listen.ts'
import { ask } from '../support/postgres.ts'
import { usePostgres } from '../support/postgres-inboxes.ts'
import { startStallingProxy } from '../support/stalling-proxy.ts'
import { until } from '../support/until.ts'

const server = usePostgres()
let url: string
beforeAll(async () => {
  url = await server.createDatabase()
})

interface Heard {
  readonly wakes: number[]
  readonly warnings: string[]
  close(): Promise<void>
}

function start(to: string, applicationName: string): Heard {
  const wakes: number[] = []
  const warnings: string[] = []
  const onWake = () => void wakes.push(performance.now())
  const listener = listen({
    url: to,
    applicationName,
    onWake,
    onWarning: (message, details) => void warnings.push(`${message} ${JSON.stringify(details)}`),
    keepAliveMs: 100,
  })
  onTestFinished(() => listener.close())
  return { wakes, warnings, close: () => listener.close() }
}

const say = () => ask(url, `SELECT pg_notify('inbox_wake', '')`)
const untilWakes = (heard: Heard, count: number) => until(() => heard.wakes.length >= count, `it woke ${count} times`)

test('wakes once it listens, and for each word that comes later', async () => {
  const heard = start(url, 'plain')
  await untilWakes(heard, 1)
  await say()
  await untilWakes(heard, 2)
})

test('many words at once wake a few times only, the last one included', async () => {
  const heard = start(url, 'calm')
  await untilWakes(heard, 1)
  // Each transaction tells of its own.
  await ask(url, Array.from({ length: 500 }, () => `NOTIFY inbox_wake; COMMIT; BEGIN`).join(';'))
  const saidAt = performance.now()
  await say()
  await until(() => (heard.wakes.at(-1) ?? 0) > saidAt, 'the last one woke it')
  const [first = 0, last = 0] = [heard.wakes[0], heard.wakes.at(-1)]
  expect(heard.wakes.length).toBeLessThanOrEqual(2 + (last - first) / 15)
})

test('connects again when the server ends its connection, and wakes for what it missed', async () => {
  const heard = start(url, 'ended')
  await untilWakes(heard, 1)
  const ended = await ask(
    url,
    `SELECT pg_terminate_backend(pid, 5000) AS it FROM pg_stat_activity WHERE application_name = 'ended'`,
  )
  expect(ended).toEqual([{ it: true }])
  await untilWakes(heard, 2)
  await say()
  await untilWakes(heard, 3)
  expect(heard.warnings).toEqual([])
})

test('notices a connection that is only half there', async () => {
  await using proxy = await startStallingProxy(Number(new URL(url).port))
  const through = new URL(url)
  through.port = String(proxy.port)
  const heard = start(through.href, 'half there')
  await untilWakes(heard, 1)
  proxy.stall()
  await until(() => proxy.connections > 1, 'it has tried another connection')
  proxy.resume()
  await untilWakes(heard, 2)
})

test('says once that it cannot, and goes on trying', async () => {
  const away = new URL(url)
  away.port = '1'
  const heard = start(away.href, 'away')
  await until(() => heard.warnings.length > 0, 'it is said')
  expect(heard.warnings).toEqual([expect.stringContaining('ECONNREFUSED')])
})

test('nothing wakes once it is closed, whatever it was doing', async () => {
  const heard = start(url, 'closed')
  await heard.close()
  const count = heard.wakes.length
  await say()
  const other = start(url, 'other')
  await untilWakes(other, 1)
  await say()
  await untilWakes(other, 2)
  expect(heard.wakes.length).toBe(count)
})
