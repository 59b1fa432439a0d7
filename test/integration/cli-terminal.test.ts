import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { inTerminal, outputOf } from '../support/cli.ts'
import { eventDelivery, RecordingClient } from '../support/history.ts'
import { serveCommand, Sidecar } from '../support/sidecar.ts'
import { has } from '../support/tools.ts'
import { until } from '../support/until.ts'

const hasTerminals = process.platform === 'linux' && has('script')
const logForPeople = fileURLToPath(new URL('../fixtures/log-for-people.ts', import.meta.url))

const escape = '\u001b['
const command = [process.execPath, logForPeople]

test('a pretty log has no colours in a pipe, from any thread', async () => {
  const text = await outputOf(command, { GITHUB_ACTIONS: 'true', CI: 'true' })
  expect(text).toMatch(/WARN: in the main thread\n.*WARN: in a worker\n/)
  expect(text).not.toContain(escape)
})

test.skipIf(!hasTerminals)('a pretty log has colours on a terminal unless NO_COLOR is set (needs script)', async () => {
  const coloured = (await outputOf(inTerminal(command))).trim().split('\n')
  expect(coloured).toHaveLength(2)
  for (const line of coloured) expect(line).toContain(`${escape}33mWARN`)
  const plain = await outputOf(inTerminal(command), { NO_COLOR: '1' })
  expect(plain).toContain('WARN: in a worker')
  expect(plain).not.toContain(escape)
})

test('serve logs text in a pipe, without --json, and SIGUSR1 opens no debugger', async () => {
  await using sidecar = await Sidecar.create({ command: serveCommand.filter((word) => word !== '--json') })
  sidecar.launch()
  await until(() => sidecar.output.text.includes('INFO: listening\n'), 'it listens')
  sidecar.signal('SIGUSR1')
  sidecar.signal('SIGTERM')
  expect(await sidecar.exited()).toEqual({ code: 0, signal: null })
  expect(sidecar.output.text).toMatch(/INFO: stopped\n$/)
  expect(sidecar.output.text).not.toMatch(/"level"|Debugger/)
})

/** Runs until it is aborted. */
const slow = `
import { defineHandler } from 'onchain-inbox'
export default defineHandler({
  type: '*',
  run: (event, ctx) => new Promise((_, reject) => {
    ctx.log.info({}, 'began')
    ctx.signal.addEventListener('abort', reject)
  }),
})
`

test.skipIf(!hasTerminals)(
  'closing the terminal stops serve cleanly, also with two SIGHUP (needs script)',
  async () => {
    await using sidecar = await Sidecar.start({
      command: inTerminal(serveCommand),
      handlers: { 'slow.mjs': slow },
      env: { INBOX_SHUTDOWN_MS: '3000' },
    })
    using client = new RecordingClient({ url: () => sidecar.url })
    await client.deliver(eventDelivery({ id: 'evt_1' }))
    await sidecar.log('began')
    const pid = Number(await readFile(`${sidecar.databaseFile}.pid`, 'utf8'))
    using leftover = new DisposableStack()
    leftover.defer(() => void (isAlive(pid) && process.kill(pid, 'SIGKILL')))
    // A shell sends one SIGHUP to its jobs, and the terminal another.
    process.kill(pid, 'SIGHUP')
    await sidecar.log('stopping')
    await sidecar.kill()
    await until(() => !isAlive(pid), 'serve has ended')
    await using next = await Sidecar.start({ env: { INBOX_DATABASE_URL: `sqlite:${sidecar.databaseFile}` } })
    expect(await next.log('database opened')).toMatchObject({ cleanStop: true })
  },
)

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Opens a debugger by SIGUSR1 before the first line of the program. */
const early = `
import { isMainThread } from 'node:worker_threads'
import inspector from 'node:inspector'
if (isMainThread) {
  process.debugPort = 0
  process.kill(process.pid, 'SIGUSR1')
  while (inspector.url() === undefined) await new Promise(setImmediate)
}`

test('a debugger that SIGUSR1 opened before the start is closed, and one of --inspect stays', async () => {
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(early)}`
  const debuggerOf = async (sidecar: Sidecar) => {
    const [, origin] = /Debugger listening on ws:\/\/([\d.:]+)/.exec(sidecar.output.text) ?? []
    return (await fetch(`http://${origin}/json/version`)).status
  }
  await using closed = await Sidecar.create()
  await closed.start({ NODE_OPTIONS })
  await expect(debuggerOf(closed)).rejects.toMatchObject({ cause: { code: 'ECONNREFUSED' } })
  await using kept = await Sidecar.create()
  await kept.start({ NODE_OPTIONS: '--inspect=127.0.0.1:0' })
  expect(await debuggerOf(kept)).toBe(200)
})
