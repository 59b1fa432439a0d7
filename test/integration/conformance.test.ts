import { readFile } from 'node:fs/promises'
import http from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { scenarios } from '../../src/conformance/scenarios.ts'
import { tlsPair } from '../fixtures/tls.ts'
import { testSecret } from '../support/app.ts'
import { AppServer } from '../support/app-server.ts'
import { effectsHandler } from '../support/ledger.ts'
import { createTempDir } from '../support/temp-dir.ts'
import {
  conformance,
  nextSecret,
  parseLines,
  rulesOf,
  startConformance,
  startRestartable,
} from './conformance-stage.ts'

const secrets = `${testSecret},${nextSecret}`
const rules = scenarios.flatMap(({ name, checks }) => Object.values(checks).map(({ rule }) => `${rule} ${name}`))

test('R71 R72 R73 R75 R79 R88 R89 R90 R92 R103 R127 our sidecar passes every rule there is, twice in a row, also while its handlers take 30 s', async () => {
  await using receiver = await startRestartable({
    env: { INBOX_SECRETS: secrets },
    handlers: { 'effects.mjs': effectsHandler({ busyMs: 5 }), 'slow.mjs': slow },
  })
  const { sidecar, effects, restart } = receiver
  const args = ['--url', sidecar.url, '--next-secret', 'env:NEXT', '--json', ...effects, ...restart]
  const { code, out, errors } = await conformance(...args)
  const { verdicts, summary } = parseLines(out)
  expect(rulesOf(verdicts, 'passed'), out).toEqual(rules)
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  expect(summary).toMatchObject({ outcome: 'passed', reason: null, passed: rules.length, failed: 0, notChecked: 0 })
  expect(verdicts).toContainEqual(
    expect.objectContaining({ rule: 'R79', scenario: 'burst', detail: expect.stringMatching(/^1000 × 200, slowest/) }),
  )
  const again = await conformance(...args, '--skip', 'slow,restart', '--many', '50')
  expect(rulesOf(parseLines(again.out).verdicts, 'failed')).toEqual([])
  expect(again.code).toBe(0)
}, 180_000)

/** Works for as long as the service would never wait, beside the one that leaves traces. */
const slow = `
import { setTimeout as wait } from 'node:timers/promises'
export default { type: '*', run: (event, ctx) => wait(30_000, undefined, { signal: ctx.signal }), timeoutMs: 60_000 }
`

test('what is not given is not checked, and says why; text and JUnit have a line and a case for each rule', async () => {
  await using dir = await createTempDir()
  await using receiver = await startRestartable({ handlers: {} })
  const junit = join(dir.path, 'report.xml')
  const { code, out, errors } = await conformance('--url', receiver.sidecar.url, '--many', '20', '--junit', junit)
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  const lines = out.trimEnd().split('\n')
  expect(lines).toHaveLength(rules.length + 1)
  expect(lines).toContain(
    'not checked  R88   repeated      an event that was delivered several times is done once: without --effects nobody tells what the receiver did',
  )
  expect(lines).toContain(
    'not checked  A32   rotation      the next secret is good: without --next-secret there is one secret alone',
  )
  expect(lines).toContain(
    'not checked  P7    restart       the receiver answers again after a restart: without --restart it is not known how the receiver is restarted',
  )
  const skipped = lines.filter((line) => line.startsWith('not checked')).length
  expect(lines.at(-1)).toMatch(
    new RegExp(`^${rules.length - skipped} passed, 0 failed, ${skipped} not checked, in \\d+\\.\\d s$`),
  )
  const xml = await readFile(junit, 'utf8')
  expect(xml.match(/<testcase /g)).toHaveLength(rules.length)
  expect(xml.match(/<skipped /g)).toHaveLength(skipped)
  expect(xml).not.toContain('<failure')
})

test('with --effects as a URL it reads them there; what cannot be read any more fails and says so', async () => {
  await using receiver = await startRestartable({ handlers: { 'effects.mjs': effectsHandler() } })
  await using app = await AppServer.start()
  const { sidecar } = receiver
  app.answer = async () => {
    const lines = (await readFile(sidecar.effectsFile, 'utf8').catch(() => '')).trim().split('\n')
    const ids = lines.filter((line) => line.endsWith('end')).map((line) => ({ id: line.split(' ')[0] }))
    return { status: 200, body: JSON.stringify(ids) }
  }
  const url = ['--url', sidecar.url, '--only', 'repeated,order', '--json', '--settle', '2']
  const good = await conformance(...url, '--effects', app.url)
  expect(parseLines(good.out).summary, good.out).toMatchObject({ outcome: 'passed', passed: 3, notChecked: 0 })

  app.requests.length = 0
  app.answer = () => ({ status: app.requests.length > 1 ? 500 : 200 })
  await using dir = await createTempDir()
  /** Does nothing the first time. */
  const later = (name: string, command: string) => {
    const mark = join(dir.path, name)
    return `if [ -e '${mark}' ]; then ${command}; else touch '${mark}'; fi`
  }
  for (const [effects, reason] of [
    [app.url, 'a GET of the effects was answered 500, expected 200'],
    [later('exit', 'exit 3'), 'the command ended with 3; run it by hand to see what it prints'],
    [later('echo', 'echo \'{"event":1}\''), 'line 1 of what tells of effects is no effect'],
  ] as const) {
    const { code, out } = await conformance(...url, '--effects', effects, '--only', 'order')
    expect(code).toBe(1)
    expect(out).toContain(`the effects could not be read: ${reason}`)
  }
})

test('a restart that fails is a failed rule', async () => {
  await using receiver = await startRestartable({ handlers: {} })
  const args = ['--url', receiver.sidecar.url, '--only', 'restart', '--json']
  const { code, out } = await conformance(...args, '--restart', 'exit 4')
  const { verdicts } = parseLines(out)
  expect(code).toBe(1)
  expect(rulesOf(verdicts, 'failed')).toEqual(['P7 restart'])
  expect(verdicts[0]?.detail).toContain('came: the command ended with 4')
  expect(verdicts[1]).toMatchObject({ rule: 'R90', verdict: 'not checked', detail: 'it was not restarted' })
})

test('a receiver that is not there is code 75, with the reason; in the JUnit report it is an error', async () => {
  await using dir = await createTempDir()
  const gone = await AppServer.start()
  const url = `http://127.0.0.1:${gone.port}/webhooks`
  await gone[Symbol.asyncDispose]()
  const junit = join(dir.path, 'report.xml')
  const args = ['--url', `${url}?token=hidden`, '--timeout', '0.5', '--junit', junit]
  const { code, out } = await conformance(...args, '--json')
  expect(code).toBe(75)
  expect(parseLines(out)).toMatchObject({ verdicts: [], summary: { outcome: 'unreachable', url, failed: 0 } })
  expect(out).toContain('could not be reached: the connection was refused')
  expect(out).not.toContain('hidden')
  expect(await readFile(junit, 'utf8')).toMatch(/<error message="the receiver could not be reached: /)
})

test('R79 an answer that comes too late, a redirect and an error are no acknowledgement, each with what to do', async () => {
  await using app = await AppServer.start()
  const url = ['--url', app.url, '--only', 'methods,rotation,repeated,acceptance', '--timeout', '1', '--json']
  for (const [status, todo] of [
    [302, 'name the final address in --url'],
    [401, 'give the receiver the same secret as --secret'],
    [404, 'check the path of --url'],
    [500, 'look into the log of the receiver'],
    [422, 'answer 2xx to whatever is authentic'],
  ] as const) {
    app.answer = () => ({ status, headers: { Location: '/elsewhere' } })
    const { code, out } = await conformance(...url)
    expect(code).toBe(1)
    const { verdicts } = parseLines(out)
    expect(verdicts[0]?.detail).toMatch(`came: ${status} after `)
    expect(verdicts[0]?.detail).toContain(`to do: ${todo}`)
    expect(rulesOf(verdicts, 'failed')).toEqual([...Array<string>(10).fill('R92 acceptance'), 'R90 repeated'])
  }
  expect(new Set(app.requests.map(({ path }) => path))).toEqual(new Set(['/app?token=of-the-app']))

  // The first one is answered: it is there.
  app.requests.length = 0
  app.answer = () => (app.requests.length > 1 ? null : { status: 200 })
  const { code, out } = await conformance(...url, '--only', 'repeated')
  expect(code).toBe(1)
  expect(out).toContain('came: 4 × no answer within 1000 ms')
  expect(out).toContain('answer as soon as the event is stored')
  expect(parseLines(out).summary.reason).toContain('the receiver does not answer any more')
})

test('a receiver that acknowledges everything fails what is to be refused', async () => {
  await using app = await AppServer.start()
  const { code, out } = await conformance('--url', app.url, '--many', '10', '--json')
  const { verdicts } = parseLines(out)
  expect(code).toBe(1)
  const expected = { forgery: 15, tampering: 1, methods: 1, sizes: 1 }
  const failures = Object.groupBy(
    verdicts.filter(({ verdict }) => verdict === 'failed'),
    ({ scenario }) => scenario,
  )
  expect(Object.fromEntries(Object.entries(failures).map(([name, list]) => [name, list?.length]))).toEqual(expected)
  expect(out).not.toContain(testSecret)
})

test('--insecure takes a certificate that signs itself; without it the receiver is not reached', async () => {
  await using server = await startServer(https.createServer(tlsPair, acknowledge))
  const url = `https://127.0.0.1:${server.port}/webhooks`
  const args = ['--url', url, '--only', 'repeated,late', '--many', '30', '--timeout', '2']
  const refused = await conformance(...args)
  expect(refused).toMatchObject({ code: 75, out: expect.stringContaining('--insecure takes it') })
  expect(await conformance(...args, '--insecure')).toMatchObject({ code: 0, errors: '' })
})

test('Ctrl-C ends it with what is known', async () => {
  await using server = await startServer(http.createServer(acknowledge))
  const url = `http://127.0.0.1:${server.port}/webhooks`
  using run = startConformance(['--url', url, '--only', 'repeated,slow', '--json'])
  const first = await run.line()
  run.child.kill('SIGINT')
  const { code, out } = await run.ended
  expect(code).toBe(75)
  const { verdicts, summary } = parseLines(out)
  expect(JSON.parse(first)).toEqual(verdicts[0])
  expect(verdicts[0]).toMatchObject({ scenario: 'repeated', verdict: 'passed' })
  expect(verdicts.at(-1)).toMatchObject({ verdict: 'not checked', detail: 'it was interrupted' })
  expect(summary).toMatchObject({ outcome: 'interrupted', reason: 'it was interrupted' })
})

function acknowledge(request: http.IncomingMessage, response: http.ServerResponse): void {
  request.resume()
  request.on('end', () => response.writeHead(200).end())
}

async function startServer(server: http.Server | https.Server) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

test('a receiver on another machine costs one line of warning', async () => {
  await using server = await startServer(http.createServer(acknowledge))
  // This machine, by a name that says nothing about it.
  const url = `http://0.0.0.0:${server.port}/webhooks`
  const { code, out, errors } = await conformance('--url', `${url}?token=hidden`, '--only', 'repeated')
  expect(code).toBe(0)
  expect(out).toContain('1 passed, 0 failed, 1 not checked')
  expect(errors).toMatch(/^warning: http:\/\/0\.0\.0\.0:\d+\/webhooks is not this machine: it gets .*\n$/)
})

test.each([
  [['--only', 'nope'], 'there is no scenario "nope"; expected some of: acceptance, raw-bytes'],
  [['--skip', 'order,nope'], 'there is no scenario "nope"'],
  [['--only', 'order', '--skip', 'order'], 'no scenario is left'],
  [['--url', 'ftp://127.0.0.1/'], 'Expected a URL that begins with http:// or https://'],
  [['--timeout', '0'], 'Expected a number of seconds above 0'],
  [['--many', '1.5'], 'Expected a whole number from 1'],
  [['--signature-header', 'a b'], 'Expected the name of an HTTP header'],
  [['--secret', '-', '--next-secret', '-'], 'only one of the two secrets can come from standard input'],
  [['--url', 'https://hooks.example/', '--secret', 'a-literal-secret'], 'a secret cannot stand on the command line'],
])('%j is refused before anything is sent', async (args, message) => {
  const { code, out, errors } = await conformance('--url', 'http://127.0.0.1:9/', ...args)
  expect({ code, out }).toEqual({ code: 1, out: '' })
  expect(errors).toContain(message)
  expect(errors).not.toContain('a-literal-secret')
})
