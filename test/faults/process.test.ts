import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { sign } from '../../src/signature/sign.ts'
import { eventDelivery, RecordingClient } from '../support/history.ts'
import { effectsHandler, readLedger } from '../support/ledger.ts'
import { Load } from '../support/load.ts'
import { serveCommand, Sidecar } from '../support/sidecar.ts'
import { until } from '../support/until.ts'
import { examine } from './power-loss-check.ts'

const canUnshare = spawnSync('unshare', ['--pid', '--fork', 'true']).status === 0

const effects = { 'effects.mjs': effectsHandler({ busyMs: 4 }) }

/** Runs until its signal is aborted, or returns at once with END. */
const slow = {
  'slow.mjs': `
import { defineHandler } from 'onchain-inbox'
export default defineHandler({
  type: 'test.slow',
  async run(event, ctx) {
    ctx.log.info({}, 'slow began')
    if (!process.env.END) await new Promise((_, reject) => ctx.signal.addEventListener('abort', reject))
  },
})
`,
}

const anEvent = (id: string, type = 'test.event') => eventDelivery({ id, type })

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
  const acknowledged = load.acknowledgements(150)
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

/** Blocks in a native call on a pipe without a writer. */
const stuckHandler = `
import { execFileSync } from 'node:child_process'
import { openSync } from 'node:fs'
import { defineHandler } from 'onchain-inbox'
export default defineHandler({
  type: 'test.stuck',
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

describe('with a handler stuck in a native call', () => {
  async function start(shutdownMs: number, command = serveCommand) {
    const handlers = { 'stuck.mjs': stuckHandler }
    const sidecar = await Sidecar.start({ command, handlers, env: { INBOX_SHUTDOWN_MS: String(shutdownMs) } })
    await makeStuck(sidecar)
    expect(await sidecar.log('handler blocks its thread')).toMatchObject({ handler: 'stuck' })
    return sidecar
  }

  test.skipIf(!canUnshare)('SIGTERM ends the first process of a container in time with 0 (needs unshare)', async () => {
    await using sidecar = await start(5_000, ['unshare', '--pid', '--fork', ...serveCommand])
    process.kill(Number(readFileSync(`/proc/${sidecar.pid}/task/${sidecar.pid}/children`, 'utf8')), 'SIGTERM')
    expect(await sidecar.exited()).toEqual({ code: 0, signal: null })
    expect(sidecar.output.text).toMatch(/"handler":"stuck","msg":"handler stuck in native call/)
    const { work } = await readLedger(sidecar.databaseFile)
    expect(work).toMatchObject([{ handler: 'stuck', state: 'suspect', attempt: 1, crashed: 1 }])
  })

  test('a second SIGTERM ends serve at once', async () => {
    await using sidecar = await start(600_000)
    sidecar.signal('SIGTERM')
    await sidecar.log('stopping')
    sidecar.signal('SIGTERM')
    expect(await sidecar.exited()).toEqual({ code: 1, signal: null })
    expect(sidecar.output.text).toMatch(/"handlers":\["stuck"\],"msg":"stopped by second signal"/)
  })
})

test('SIGHUP during the start does not end serve, SIGTERM ends it with 0', async () => {
  await using sidecar = await Sidecar.create({ handlers: { 'endless.mjs': 'for (;;);' } })
  sidecar.launch()
  await sidecar.log('database opened')
  sidecar.signal('SIGHUP')
  sidecar.signal('SIGTERM')
  expect(await sidecar.exited()).toEqual({ code: 0, signal: null })
})

test('SIGSTOP beyond all timeouts, then SIGCONT: no loss, no thread replaced', async () => {
  // By wall time, a thread with these handlers counts as blocked after 6 seconds.
  const shortTimeout = effects['effects.mjs'].replace("type: '*'", "type: '*', timeoutMs: 1_000")
  await using sidecar = await Sidecar.start({ handlers: { 'effects.mjs': shortTimeout } })
  using client = new RecordingClient({ url: () => sidecar.url, timeoutMs: 7_000 })
  const load = new Load({ client, workers: 32, keys: 100, random: Math.random })
  const acknowledged = load.acknowledgements(100)
  const sending = load.run()
  await acknowledged
  sidecar.signal('SIGSTOP')
  const event = anEvent('during-the-stop')
  const unanswered = client.deliver(event)
  load.stop()
  await sending
  expect((await unanswered).answer).toBe('timeout')

  sidecar.signal('SIGCONT')
  await until(async () => (await client.deliver(event)).answer === 200, 'the event is stored')
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

test('a database deleted while idle is noticed by a stop, which ends with 75', async () => {
  await using sidecar = await Sidecar.start()
  await rm(sidecar.databaseFile)
  expect(await sidecar.stop()).toEqual({ code: 75, signal: null })
  expect(sidecar.output.text).toContain(`${sidecar.databaseFile} was deleted or moved while this process served it`)
})

test('SIGHUP reads the file with the secrets again; an unusable one changes nothing', async () => {
  const [oldSecret, newSecret] = ['the-secret-of-yesterday', 'the-secret-of-tomorrow']
  await using sidecar = await Sidecar.create({ env: { INBOX_SECRETS: undefined, INBOX_SECRETS_FILE: './secrets' } })
  const file = join(sidecar.dir, 'secrets')
  using client = new RecordingClient({ url: () => sidecar.url })
  /** Status of a delivery signed with each secret. */
  const answers = async () => {
    const event = anEvent('event')
    const answerTo = async (secret: string) =>
      (await client.deliver({ ...event, signature: sign(event.raw, secret) })).answer
    return [await answerTo(oldSecret), await answerTo(newSecret)]
  }
  await writeFile(file, JSON.stringify({ old: oldSecret }))
  await sidecar.start()
  expect(await answers()).toEqual([200, 401])
  await writeFile(file, '{"old":')
  sidecar.signal('SIGHUP')
  await sidecar.log('webhook secrets unusable, old kept')
  expect(await answers()).toEqual([200, 401])
  await writeFile(file, JSON.stringify({ new: newSecret }))
  sidecar.signal('SIGHUP')
  await sidecar.log('webhook secrets read again')
  expect(await answers()).toEqual([401, 200])
  expect(sidecar.lives).toHaveLength(1)
  for (const secret of [oldSecret, newSecret]) expect(sidecar.output.text).not.toContain(secret)
})
