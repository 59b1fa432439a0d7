import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { copyFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { sign } from '../../src/signature/sign.ts'
import { testSecret } from '../support/app.ts'
import { checkHistory, type Finding } from '../support/checks.ts'
import { isAcknowledged, RecordingClient, toDelivery, type Delivery } from '../support/history.ts'
import { effectsHandler, readEffects, readLedger } from '../support/ledger.ts'
import { Load } from '../support/load.ts'
import { serveCommand, Sidecar, testToken } from '../support/sidecar.ts'
import { until } from '../support/until.ts'
import { eventBytes } from '../support/signed.ts'

const canUnshare = spawnSync('unshare', ['--pid', '--fork', 'true']).status === 0

const effects = { 'effects.mjs': effectsHandler({ busyMs: 4 }) }

/** Runs until its signal is aborted; END: returns at once, or ignores the signal. */
const slow = {
  'slow.mjs': `
import { defineHandler } from 'onchain-inbox'
export default defineHandler({
  type: 'test.slow',
  async run(event, ctx) {
    ctx.log.info({}, 'slow began')
    if (process.env.END === 'at once') return
    const ends = process.env.END === 'never' ? [] : [new Promise((_, reject) => ctx.signal.addEventListener('abort', reject))]
    await Promise.race([new Promise((resolve) => setTimeout(resolve, 600_000)), ...ends])
  },
})
`,
}

function anEvent(id: string, type = 'test.event'): Delivery {
  return toDelivery(eventBytes({ id, type }), { id })
}

/** Checks the history of a stopped sidecar. */
async function examine(sidecar: Sidecar, client: RecordingClient, timedOut?: ReadonlySet<string>): Promise<Finding[]> {
  const { stored } = await readLedger(sidecar.databaseFile)
  const { requests } = client
  const { lives, output } = sidecar
  const secrets = [testSecret, testToken]
  const traces = await readEffects(sidecar.effectsFile)
  const evidence = { requests, stored, effects: traces, lives, output: output.text, secrets }
  return checkHistory({ ...evidence, ...(timedOut && { requeued: timedOut }) })
}

test('SIGTERM under load: exit 0 in time, nothing lost, the run in flight released uncharged', async () => {
  const shutdownMs = 3_000
  await using sidecar = await Sidecar.start({
    handlers: { ...effects, ...slow },
    env: { INBOX_SHUTDOWN_MS: String(shutdownMs) },
  })
  using client = new RecordingClient({ url: () => sidecar.url })
  await client.deliver(anEvent('mid-run', 'test.slow'))
  await sidecar.log('slow began')

  const load = new Load({ client, workers: 32, keys: 100, random: Math.random })
  const acknowledged = load.acknowledgements(500)
  const sending = load.run()
  await acknowledged
  expect(await sidecar.stop()).toEqual({ code: 0, signal: null })
  await sending

  const { work } = await readLedger(sidecar.databaseFile)
  expect(work.filter(({ handler }) => handler === 'slow')).toEqual([
    { id: 'mid-run', handler: 'slow', state: 'ready', attempt: 0, crashed: 0 },
  ])
  expect(work.filter(({ crashed }) => crashed > 0)).toEqual([])

  await sidecar.start({ END: 'at once' })
  await load.heal()
  await sidecar.drained()
  await sidecar.stop()
  expect(await examine(sidecar, client)).toEqual([])
})

test('a second signal ends serve at once without loss', async () => {
  await using sidecar = await Sidecar.start({ handlers: slow, env: { END: 'never', INBOX_SHUTDOWN_MS: '60000' } })
  using client = new RecordingClient({ url: () => sidecar.url })
  for (let n = 0; n < 20; n++) await client.deliver(anEvent(`event ${n}`))
  await client.deliver(anEvent('mid-run', 'test.slow'))
  await sidecar.log('slow began')
  sidecar.signal('SIGTERM')
  await sidecar.log('stopping')
  sidecar.signal('SIGINT')
  expect(await sidecar.exited()).toEqual({ code: 1, signal: null })

  await sidecar.start({ END: 'at once' })
  await sidecar.drained()
  await sidecar.stop()
  const { stored, work, missingSeqs } = await readLedger(sidecar.databaseFile)
  expect(stored.map(({ id }) => id)).toEqual(client.requests.map(({ id }) => id))
  expect(missingSeqs).toBe(0)
  expect(work).toEqual([{ id: 'mid-run', handler: 'slow', state: 'done', attempt: 2, crashed: 1 }])
})

/** Blocks in a native call on a pipe without a writer. */
const stuckHandler = (options = '') => `
import { execFileSync } from 'node:child_process'
import { openSync } from 'node:fs'
import { defineHandler } from 'onchain-inbox'
export default defineHandler({
  type: 'test.stuck',${options}
  run() {
    const pipe = import.meta.filename + '.pipe'
    execFileSync('mkfifo', [pipe])
    openSync(pipe)
  },
})
`

/** Delivers the event that makes handlers stuck. */
async function makeStuck(sidecar: Sidecar): Promise<void> {
  using client = new RecordingClient({ url: () => sidecar.url })
  const event = anEvent('event', 'test.stuck')
  await until(async () => (await client.deliver(event)).answer === 200, 'the overload is over')
}

describe.each([
  ['an ordinary process', serveCommand],
  ['the first process of a container', ['unshare', '--pid', '--fork', ...serveCommand]],
] as const)('with a handler stuck in a native call, as %s', (name, command) => {
  const isFirst = command !== serveCommand

  async function start(shutdownMs: number) {
    const handlers = { 'stuck.mjs': stuckHandler() }
    const sidecar = await Sidecar.start({ command, handlers, env: { INBOX_SHUTDOWN_MS: String(shutdownMs) } })
    await makeStuck(sidecar)
    expect(await sidecar.log('handler blocks its thread')).toMatchObject({ handler: 'stuck' })
    const children = `/proc/${sidecar.pid}/task/${sidecar.pid}/children`
    return { sidecar, pid: isFirst ? Number(readFileSync(children, 'utf8')) : sidecar.pid }
  }

  test.skipIf(isFirst && !canUnshare)('SIGTERM ends serve in time with 0', async () => {
    const { sidecar, pid } = await start(5_000)
    await using _ended = sidecar
    process.kill(pid, 'SIGTERM')
    expect(await sidecar.exited()).toEqual({ code: 0, signal: null })
    expect(sidecar.output.text).toMatch(/"handler":"stuck","msg":"handler stuck in native call/)
    const { work } = await readLedger(sidecar.databaseFile)
    expect(work).toMatchObject([{ handler: 'stuck', state: 'suspect', attempt: 1, crashed: 1 }])
  })

  test.skipIf(isFirst && !canUnshare)('a second SIGTERM ends serve at once', async () => {
    const { sidecar, pid } = await start(600_000)
    await using _ended = sidecar
    process.kill(pid, 'SIGTERM')
    await sidecar.log('stopping')
    process.kill(pid, 'SIGTERM')
    expect(await sidecar.exited()).toEqual({ code: 1, signal: null })
    expect(sidecar.output.text).toMatch(/"handlers":\["stuck"\],"msg":"stopped by second signal"/)
  })
})

test('SIGTERM during the start ends serve with 0', async () => {
  await using sidecar = await Sidecar.create({ handlers: { 'endless.mjs': 'for (;;);' } })
  sidecar.launch()
  await sidecar.log('database opened')
  sidecar.signal('SIGTERM')
  expect(await sidecar.exited()).toEqual({ code: 0, signal: null })
})

test('SIGSTOP beyond all timeouts, then SIGCONT: no loss, no thread replaced', async () => {
  // By wall time, a thread with these handlers counts as blocked after 6 seconds.
  const shortTimeout = effects['effects.mjs'].replace("type: '*'", "type: '*', timeoutMs: 1_000")
  await using sidecar = await Sidecar.start({ handlers: { 'effects.mjs': shortTimeout } })
  using client = new RecordingClient({ url: () => sidecar.url, timeoutMs: 7_000 })
  const load = new Load({ client, workers: 32, keys: 100, random: Math.random })
  const acknowledged = load.acknowledgements(300)
  const sending = load.run()
  await acknowledged
  sidecar.signal('SIGSTOP')
  load.stop()
  await sending
  expect(client.requests.map(({ answer }) => answer)).toContain('timeout')

  sidecar.signal('SIGCONT')
  await load.heal()
  await sidecar.drained()
  expect(sidecar.lives).toHaveLength(1)
  expect(sidecar.output.lines.filter(({ level }) => level === 'error')).toEqual([])
  expect(sidecar.output.lines.filter(({ msg }) => msg.startsWith('handler block'))).toEqual([])
  expect(await sidecar.stop()).toEqual({ code: 0, signal: null })
  // The timeout of a run that was in flight may end before its response is read.
  const timedOut = sidecar.output.lines.flatMap(({ msg, eventId }) =>
    msg === 'attempt failed, retry scheduled' ? [String(eventId)] : [],
  )
  const findings = await examine(sidecar, client, new Set(timedOut))
  expect(findings.filter(({ property }) => property !== 'P6')).toEqual([])
})

test('a second instance on the same file ends with 75 and names the first', async () => {
  await using first = await Sidecar.start()
  using client = new RecordingClient({ url: () => first.url })
  await client.deliver(anEvent('before'))
  await using second = await Sidecar.create({ env: { INBOX_DATABASE_URL: `sqlite:${first.databaseFile}` } })
  expect(await second.run()).toEqual({ code: 75, signal: null })
  expect(second.output.text).toContain('database_in_use')
  expect(second.output.text).toContain(`${first.databaseFile} is in use by process ${first.pid}.`)

  expect(await client.deliver(anEvent('after'))).toMatchObject({ answer: 200 })
  expect(await first.stop()).toEqual({ code: 0, signal: null })
  expect((await readLedger(first.databaseFile)).stored.map(({ id }) => id)).toEqual(['before', 'after'])
})

test.each([
  ['deleted', (file: string) => rm(file)],
  ['replaced', (file: string) => copyFile(process.execPath, `${file}.new`).then(() => rename(`${file}.new`, file))],
  // A rename is atomic: emptying the folder could be noticed midway.
  ['gone with its whole folder', (file: string) => rename(dirname(file), `${dirname(file)}.gone`)],
])('a database %s under load: no later 2xx, exit 75, and the next start reports missing events', async (what, take) => {
  await using sidecar = await Sidecar.create()
  const file = join(sidecar.dir, 'data', 'inbox.db')
  const env = { INBOX_DATABASE_URL: `sqlite:${file}` }
  await sidecar.start(env)
  using client = new RecordingClient({ url: () => sidecar.url })
  const load = new Load({ client, workers: 16, keys: 100, random: Math.random })
  const acknowledged = load.acknowledgements(300)
  const sending = load.run()
  await acknowledged
  await take(file)
  const takenAt = performance.now()
  await client.deliver(anEvent('late'))
  expect(await sidecar.exited()).toEqual({ code: 75, signal: null })
  await sending
  const late = client.requests.filter(({ op, startedAt }) => op === 'deliver' && startedAt > takenAt)
  expect(late.length).toBeGreaterThan(0)
  expect(late.filter(isAcknowledged)).toEqual([])
  expect((await sidecar.log('exiting after failure'))['error']).toContain(
    `${file} was ${what === 'replaced' ? 'replaced by another file' : 'deleted or moved'}`,
  )
  if (what === 'replaced') await rm(file)
  await sidecar.start(env)
  const missing = 'accepted events are missing'
  const { missingSeqs } = await sidecar.output.waitFor(({ msg }) => msg.startsWith(missing), missing, 10_000)
  const acknowledgedIds = new Set(client.requests.filter(isAcknowledged).map(({ id }) => id))
  expect(missingSeqs).toBeGreaterThanOrEqual(acknowledgedIds.size)
})

test('a database deleted while idle is noticed by a stop, which ends with 75', async () => {
  await using sidecar = await Sidecar.start()
  await rm(sidecar.databaseFile)
  expect(await sidecar.stop()).toEqual({ code: 75, signal: null })
  expect(sidecar.output.text).toContain(`${sidecar.databaseFile} was deleted or moved while this process served it`)
})

test.each(['INBOX_PORT', 'INBOX_ADMIN_PORT'])(
  'a port in use, %s, ends the start with 1 and names the setting',
  async (name) => {
    await using first = await Sidecar.start()
    const { port } = new URL(first.url)
    await using second = await Sidecar.create({ env: { [name]: port } })
    expect(await second.run()).toEqual({ code: 1, signal: null })
    expect(second.output.text).toMatch(new RegExp(`port_unavailable.*127\\.0\\.0\\.1:${port}.*choose another ${name},`))
  },
)

test('SIGHUP reloads secrets from their file', async () => {
  const [oldSecret, newSecret] = ['the-secret-of-yesterday', 'the-secret-of-tomorrow']
  await using sidecar = await Sidecar.create({ env: { INBOX_SECRETS: undefined, INBOX_SECRETS_FILE: './secrets' } })
  const file = join(sidecar.dir, 'secrets')
  using client = new RecordingClient({ url: () => sidecar.url })
  let events = 0
  const answers = async () => {
    const results: unknown[] = []
    for (const secret of [oldSecret, newSecret]) {
      const event = anEvent(`event ${++events}`)
      results.push((await client.deliver({ ...event, signature: sign(event.raw, secret) })).answer)
    }
    return results
  }
  /** Like a deployment tool: a new file, then the signal. */
  const rotate = async (content: string, message: string) => {
    const since = sidecar.output.lines.length
    await writeFile(file, content)
    sidecar.signal('SIGHUP')
    await sidecar.output.waitFor(
      (line) => line.msg === message && sidecar.output.lines.indexOf(line) >= since,
      message,
      10_000,
    )
  }

  await writeFile(file, JSON.stringify({ old: oldSecret }))
  await sidecar.start()
  expect(await answers()).toEqual([200, 401])
  await rotate(JSON.stringify({ old: oldSecret, new: newSecret }), 'webhook secrets read again')
  expect(await answers()).toEqual([200, 200])
  await rotate('{"old":', 'webhook secrets unusable, old kept')
  expect(await answers()).toEqual([200, 200])
  await rotate(JSON.stringify({ new: newSecret }), 'webhook secrets read again')
  expect(await answers()).toEqual([401, 200])
  expect(sidecar.lives).toHaveLength(1)
  for (const secret of [oldSecret, newSecret]) expect(sidecar.output.text).not.toContain(secret)
})

test('SIGHUP during the start does not end serve', async () => {
  await using sidecar = await Sidecar.create()
  sidecar.launch()
  await sidecar.log('database opened')
  sidecar.signal('SIGHUP')
  await sidecar.ready()
  using client = new RecordingClient({ url: () => sidecar.url })
  expect(await client.deliver(anEvent('event'))).toMatchObject({ answer: 200 })
})

test('a broken configuration ends the start with 1 and names every problem', async () => {
  const env = { INBOX_PORT: '99999', INBOX_SECRETS: 'short', INBOX_BODY_LIMIT: 'much', INBOX_ACK_TIMEOUT_MS: '-1' }
  await using sidecar = await Sidecar.create({ env })
  expect(await sidecar.run()).toEqual({ code: 1, signal: null })
  for (const name of Object.keys(env)) expect(sidecar.output.text).toContain(`${name} must be `)
  expect(sidecar.output.text).not.toContain(env.INBOX_SECRETS)
})
