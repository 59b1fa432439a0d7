import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { HandlerListJson } from '../../src/admin/handlers.ts'
import type { HealthJson } from '../../src/admin/health.ts'
import type { ReplayJson } from '../../src/admin/replays.ts'
import { anEvent } from '../conformance/stage.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { runCli } from '../support/cli.ts'
import { eventBytes } from '../support/signed.ts'
import { openRunsOf } from '../../src/inbox/port.ts'
import { until } from '../support/until.ts'

/** Fails while a file `down` exists in its folder. */
const sink = (name: string, cooldownMs: number) => `
  import { defineSink } from 'onchain-inbox'
  import { existsSync } from 'node:fs'
  import { join } from 'node:path'
  export default defineSink({
    name: '${name}',
    type: 'wallet.large_trade',
    order: 'none',
    retry: { attempts: 100, baseMs: 1, capMs: 1 },
    breaker: { failures: 1, cooldownMs: ${cooldownMs}, capMs: ${cooldownMs} },
    send() { if (existsSync(join(import.meta.dirname, 'down'))) throw new Error('connect ECONNREFUSED') },
  })`

const pausing = `
  import { defineSink } from 'onchain-inbox'
  export default defineSink({
    name: 'polite',
    type: 'token.new_listing',
    send(items, ctx) {
      ctx.pause(3_600_000)
      throw new Error('it said 429')
    },
  })`

const crash = `export default { type: 'pump.graduation', retry: { attempts: 1 }, run: () => process.exit(1) }`

const arrival = (id: string, type = 'wallet.large_trade') => ({
  ...anEvent(id, { type, key: id }),
  raw: eventBytes({ id, type, data: {} }),
})

function ask(app: TestApp, path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { Authorization: `Bearer ${app.adminToken}`, 'Content-Type': 'application/json' }
  return fetch(`${app.adminUrl}${path}`, { ...init, headers })
}

async function handlerOf(app: TestApp, handler: string) {
  const { data } = (await (await ask(app, '/api/v1/handlers')).json()) as HandlerListJson
  return data.find(({ name }) => name === handler)
}

const shutOf = async (app: TestApp, handler: string) => (await handlerOf(app, handler))?.shut

const healthOf = async (app: TestApp) => (await (await ask(app, '/api/v1/health')).json()) as HealthJson

test('API, metrics, handlers list and doctor show an open breaker and a pause', async () => {
  await using app = await startTestApp({
    handlers: {
      'held.mjs': sink('held', 3_600_000),
      'quick.mjs': sink('quick', 20),
      'polite.mjs': pausing,
      'crash.mjs': crash,
      down: '',
    },
  })
  expect(await shutOf(app, 'held')).toBeNull()
  await app.inbox.accept([arrival('a'), arrival('b'), arrival('c', 'token.new_listing')])
  await until(async () => (await shutOf(app, 'held')) !== null, 'the breaker is open')
  await until(async () => (await shutOf(app, 'polite')) !== null, 'the sink pauses')
  // The pause is reported before its attempt is settled.
  const openRuns = async () => {
    const row = (await app.inbox.stats()).handlers.find(({ handler }) => handler === 'polite')
    return row === undefined ? 0 : openRunsOf(row)
  }
  await until(async () => (await openRuns()) === 1, 'the item of the paused sink is pending')
  await until(async () => ((await shutOf(app, 'quick'))?.failures ?? 0) > 1, 'the other was tried again')

  const held = await shutOf(app, 'held')
  const time = expect.stringMatching(/^\d{4}-.*Z$/)
  const shut = { since: time, until: time, reason: 'breaker', failures: 1, error: 'connect ECONNREFUSED' }
  expect(held).toEqual(shut)
  expect(Date.parse(held?.until ?? '') - Date.parse(held?.since ?? '')).toBe(3_600_000)
  expect(await shutOf(app, 'polite')).toEqual({ ...shut, reason: 'pause', failures: 0, error: null })
  expect(await shutOf(app, 'crash')).toBeNull()
  await until(async () => (await handlerOf(app, 'held'))?.pace?.error_rate === 1, 'its failed attempts are counted')

  const waiting = async () => (await healthOf(app)).shut_sinks.find(({ handler }) => handler === 'held')?.open_runs
  await until(async () => (await waiting()) === 2, 'claimed items are released')
  const { shut_sinks: sinks, not_loaded: gone } = await healthOf(app)
  expect(sinks.find(({ handler }) => handler === 'held')).toEqual({ handler: 'held', ...held, open_runs: 2 })
  expect(gone).toEqual([])

  const openSinks = async () => {
    const text = await (await ask(app, '/metrics')).text()
    return Object.fromEntries(
      [...text.matchAll(/^inbox_sink_open\{handler="(\w+)"\} (\d)$/gm)].map(([, ...row]) => row),
    )
  }
  expect(await openSinks()).toEqual({ held: '1', quick: '1', polite: '0' })

  await ask(app, '/api/v1/handlers/held', { method: 'PATCH', body: JSON.stringify({ concurrency: 3 }) })
  const cli = (...args: string[]) =>
    runCli([...args, '--admin-url', app.adminUrl], {
      cwd: app.dir,
      env: { INBOX_ADMIN_TOKEN: app.adminToken },
    })
  const listed = await cli('handlers', 'list')
  expect(listed.out).toMatch(/^held +loaded +3, set /m)
  expect(listed.out).toMatch(/^polite +loaded +8 /m)
  expect(listed.out).toContain(`\
held: not called since ${held?.since}: 1 send failed in a row, the last with: connect ECONNREFUSED; next try at ${held?.until}
`)
  expect(listed.out).toMatch(/^polite: paused itself at \S+ until \S+Z$/m)
  const doctor = await cli('doctor')
  expect(doctor).toMatchObject({ code: 0, errors: '' })
  expect(doctor.out).toMatch(/^warn {2}inbox /m)
  expect(doctor.out).toContain(`the sink held: not called since ${held?.since}: 1 send failed in a row`)

  const replay = { type: 'wallet.large_trade', handler: 'held' }
  await ask(app, '/api/v1/replays', { method: 'POST', body: JSON.stringify(replay) })
  const replayed = async () => (await (await ask(app, '/api/v1/replays/1')).json()) as ReplayJson
  await until(async () => (await replayed()).runs === 2, 'the replay has made its runs')
  expect(await replayed()).toMatchObject({ state: 'running', open_runs: 2, progress: 0 })

  expect((await cli('handlers', 'pause', 'held')).code).toBe(0)
  expect(await cli('handlers', 'try', 'held')).toMatchObject({
    code: 1,
    errors: expect.stringContaining('held is paused: resume it, then try'),
  })
  expect((await cli('handlers', 'resume', 'held')).out).toBe(`\
resumed: held
Its breaker is still open: next try at ${held?.until}, or at once with \`handlers try held\`
`)
  expect(doctor.out).toMatch(/the sink polite: paused itself at \S+ until \S+Z; 1 item pending/)

  // One breaker closes after a success, the other with its thread.
  await rm(join(app.dir, 'handlers/down'))
  await until(async () => (await shutOf(app, 'quick')) === null, 'the quick one works again')
  expect(await shutOf(app, 'held')).toEqual(held)
  await app.inbox.accept([arrival('d', 'pump.graduation')])
  await until(async () => (await shutOf(app, 'held')) === null, 'the thread has ended')
  await until(async () => (await openSinks()).held === '0', 'it is open in the new thread')
})
