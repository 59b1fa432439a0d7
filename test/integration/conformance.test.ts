import https from 'node:https'
import net, { type AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { scenarios } from '../../src/cli/conformance/scenarios.ts'
import { sign } from '../../src/signature/sign.ts'
import { tlsPair } from '../fixtures/tls.ts'
import { testSecret } from '../support/app.ts'
import { AppServer } from '../support/app-server.ts'
import { effectsHandler } from '../support/ledger.ts'
import { conformance, failedScenarios, nextSecret, startRestartable, verdictsOf } from './conformance-stage.ts'

const ruleCount = Object.values(scenarios).flatMap((cases) => cases.flatMap(({ checks }) => checks)).length

/** A handler that takes longer than the acknowledgement timeout. */
const slow = `
import { setTimeout as wait } from 'node:timers/promises'
export default { type: '*', run: (event, ctx) => wait(30_000, undefined, { signal: ctx.signal }), timeoutMs: 60_000 }
`

test('R71 R72 R73 R75 R79 R88 R89 R90 R92 R103 R127 our sidecar passes every rule twice in a row, while a handler takes 30 s', async () => {
  await using receiver = await startRestartable({
    env: { INBOX_SECRETS: `${testSecret},${nextSecret}` },
    handlers: { 'effects.mjs': effectsHandler({ busyMs: 5 }), 'slow.mjs': slow },
  })
  const { sidecar, effects, restart } = receiver
  const report = await conformance(sidecar.url, null, { nextSecret, effects, restart, many: 200 })
  expect(report.verdicts.filter(({ verdict }) => verdict !== 'passed')).toEqual([])
  expect(report).toMatchObject({ outcome: 'passed', reason: null, passed: ruleCount, failed: 0, notChecked: 0 })
  expect(report.verdicts).toContainEqual(
    expect.objectContaining({ scenario: 'burst', detail: expect.stringMatching(/^200 × 200, slowest/) }),
  )
  const again = await conformance(sidecar.url, 'repeated,out-of-order', { effects })
  expect(again).toMatchObject({ outcome: 'passed', failed: 0 })
}, 180_000)

test('unreadable effects fail the rule', async () => {
  await using app = await AppServer.start()
  let reads = 0
  app.answer = ({ method }) => ({ status: method === 'GET' && ++reads > 1 ? 500 : 200 })
  const report = await conformance(app.url, 'repeated', { effects: app.url, settleMs: 500 })
  const reason = 'a GET of the effects was answered 500, expected 200'
  expect(report.verdicts[1]?.detail).toContain(`can't read the effects: ${reason}`)
})

test('R79 a conformance run follows no redirects, and ends if the receiver stops responding', async () => {
  await using app = await AppServer.start()
  app.answer = () => ({ status: 302, headers: { Location: '/elsewhere' } })
  const report = await conformance(app.url, 'acceptance,methods')
  expect(failedScenarios(report)).toEqual(Array(10).fill('acceptance'))
  expect(new Set(app.requests.map(({ path }) => path))).toEqual(new Set(['/app?token=of-the-app']))

  // The first request gets a response, so the receiver counts as reachable.
  app.requests.length = 0
  app.answer = () => (app.requests.length > 1 ? null : { status: 200 })
  const { verdicts, reason } = await conformance(app.url, 'repeated', { timeoutMs: 100 })
  expect(verdicts[0]?.detail).toContain('got: 4 × no answer within 100 ms')
  expect(verdicts[0]?.detail).toContain('fix: answer as soon as the event is stored')
  expect(reason).toContain('the receiver no longer answers')
})

test('R92 a receiver that always answers late or 503 fails', async () => {
  await using app = await AppServer.start()
  app.answer = async ({ method }) => {
    if (method === 'POST') await wait(700)
    return { status: method === 'POST' ? 200 : 405 }
  }
  const late = await conformance(app.url, 'acceptance,methods', { timeoutMs: 250 })
  expect(failedScenarios(late)).toEqual(Array(10).fill('acceptance'))
  expect(late.verdicts[0]?.detail).toContain('got: no answer within 250 ms')
  expect(late).toMatchObject({ outcome: 'failed', reason: null, passed: 1, notChecked: 0 })

  app.answer = () => ({ status: 503 })
  const busy = await conformance(app.url, 'acceptance', { timeoutMs: 100 })
  expect(failedScenarios(busy)).toEqual(Array(10).fill('acceptance'))
})

test('a receiver that acknowledges everything fails forgery, tampering, methods and sizes', async () => {
  await using app = await AppServer.start()
  const report = await conformance(
    app.url,
    Object.keys(scenarios)
      .filter((name) => name !== 'slow')
      .join(','),
    { many: 10 },
  )
  const expected = [...Array<string>(15).fill('forgery'), 'tampering', 'methods', 'sizes']
  expect(failedScenarios(report)).toEqual(expected)
  expect(JSON.stringify(report)).not.toContain(testSecret)
})

test.each([
  ['closes each connection without an answer', 'http', true, 'the connection was cut without an answer'],
  ['does not speak TLS', 'https', false, 'no connection within 500 ms'],
])('a receiver that %s is unreachable', async (_, protocol, isClosing, reason) => {
  const server = net.createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', () => isClosing && socket.resetAndDestroy())
  })
  const port = await listen(server)
  const report = await conformance(`${protocol}://127.0.0.1:${port}/in?token=hidden`, 'acceptance', { timeoutMs: 500 })
  server.close()
  expect(report).toMatchObject({ outcome: 'unreachable', url: `${protocol}://127.0.0.1:${port}/in`, verdicts: [] })
  expect(report.reason).toContain(`the receiver could not be reached: ${reason}`)
})

test('--insecure accepts a self-signed certificate', async () => {
  const server = https.createServer(tlsPair, (request, response) => {
    request.resume().on('end', () => response.writeHead(200).end())
  })
  const url = `https://127.0.0.1:${await listen(server)}/webhooks`
  const strict = await conformance(url, 'repeated,burst', { timeoutMs: 500 })
  const insecure = await conformance(url, 'repeated,burst', { many: 30, timeoutMs: 60_000, isInsecure: true })
  server.closeAllConnections()
  server.close()
  expect(strict).toMatchObject({ outcome: 'unreachable', reason: expect.stringContaining('--insecure accepts it') })
  expect(insecure).toMatchObject({ outcome: 'passed', passed: 3 })
})

async function listen(server: net.Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

test.each([
  ['exit 3', 'the command exited with 3; run it by hand to see its output'],
  ['http://127.0.0.1:9/effects', 'the connection was refused'],
  ['the app', 'a GET of the effects was answered 500, expected 200'],
])('unreadable effects of %j are a usage error before the first event', async (effects, reason) => {
  await using app = await AppServer.start()
  app.answer = ({ method }) => ({ status: method === 'GET' ? 500 : 200 })
  const running = conformance(app.url, 'repeated', { effects: effects === 'the app' ? app.url : effects })
  await expect(running).rejects.toMatchObject({
    code: 'usage',
    message: expect.stringContaining(`can't read --effects: ${reason}`),
  })
  expect(app.requests.filter(({ method }) => method === 'POST')).toEqual([])
})

interface Behaviour {
  /** Reported effects, from the ids of all handled events. */
  readonly report?: (ids: readonly string[]) => readonly string[]
  /** Also handles rejected events. */
  readonly isCareless?: boolean
}

/** Tests a receiver that verifies signatures, and reports its effects as `report` returns them. */
async function withEffects(only: string, { report = (ids) => ids, isCareless = false }: Behaviour) {
  await using app = await AppServer.start()
  const done: string[] = []
  app.answer = ({ method, body, headers }) => {
    if (method === 'GET') return { status: 200, body: report(done).join('\n') }
    const isRight = headers['x-service-signature'] === sign(body, testSecret)
    const [id] = /evt_conf[^"]*/.exec(body.toString()) ?? []
    if (id !== undefined && (isRight || isCareless) && !done.includes(id)) done.push(id)
    return { status: isRight ? 200 : 401 }
  }
  return await conformance(app.url, only, { effects: app.url, settleMs: 2_000, many: 20 })
}

test('a receiver that reports its effects at a URL passes, even if effects of earlier runs are among them', async () => {
  const earlier = ['evt_conf_of_an_earlier_run_1', 'evt_conf_of_an_earlier_run_1', 'evt_7']
  const report = await withEffects('forgery,tampering,out-of-order,burst', { report: (ids) => [...earlier, ...ids] })
  expect(report).toMatchObject({ outcome: 'passed', failed: 0, notChecked: 0 })
})

const lossy = { report: (ids: readonly string[]) => ids.slice(0, -3) }
const doubled = { report: (ids: readonly string[]) => [...ids, ...ids] }

test.each<[string, string, Behaviour, RegExp]>([
  ['P1', 'burst', lossy, /got: 3 of 20 acknowledged events not done within 2 s: evt_conf_\S+, evt_conf_/],
  ['R75', 'forgery', { isCareless: true }, /got: done: (evt_conf_\S+, ){2}evt_conf_\S+ and 12 more\nfix: do nothing/],
  ['R75', 'tampering', { isCareless: true }, /got: done: evt_conf_/],
  ['R88', 'repeated', doubled, /got: done 2 times: evt_conf_/],
  ['R88', 'burst', doubled, /got: done 2 times: evt_conf_/],
])('%s a receiver with wrong effects fails %s', async (_, scenario, behaviour, detail) => {
  const failures = verdictsOf(await withEffects(scenario, behaviour), 'failed')
  expect(failures).toMatchObject([{ scenario, detail: expect.stringMatching(detail) }])
})

test('effects that never settle are not checked', async () => {
  let reads = 0
  const { outcome, verdicts } = await withEffects('repeated', {
    report: (ids) => [
      ...ids,
      ...ids.slice(-1).flatMap((id) => Array.from({ length: ++reads }, (_, n) => `${id}_${n}`)),
    ],
  })
  expect(outcome).toBe('passed')
  expect(verdicts.at(-1)).toMatchObject({
    verdict: 'not checked',
    detail: 'the receiver was still working after 2 s (--settle waits longer)',
  })
})
