import { writeFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { runConformance, type ConformanceOptions, type Report } from '../../src/cli/conformance/run.ts'
import { scenarios } from '../../src/cli/conformance/scenarios.ts'
import { sign } from '../../src/signature/sign.ts'
import { testSecret } from '../support/app.ts'
import { AppServer } from '../support/app-server.ts'
import { effectsHandler } from '../support/ledger.ts'
import { Sidecar } from '../support/sidecar.ts'
import { startSocketServer } from '../support/socket-server.ts'

/** The second secret of receivers that accept two. */
const nextSecret = 'the-secret-that-comes-next'

/** Tests the receiver at `url`; `only` names scenarios, separated by commas. */
function conformance(url: string, only: string | null, options: Partial<ConformanceOptions> = {}): Promise<Report> {
  return runConformance({
    secret: testSecret,
    ...(only !== null && { only: only.split(',') }),
    ...options,
    url: new URL(url),
  })
}

function verdictsOf({ verdicts }: Report, verdict: Report['verdicts'][number]['verdict']) {
  return verdicts.filter((one) => one.verdict === verdict)
}

/** The scenario of each failed rule. */
function failedScenarios(report: Report): readonly string[] {
  return verdictsOf(report, 'failed').map(({ scenario }) => scenario)
}

const ruleCount = Object.values(scenarios).flatMap((cases) => cases.flatMap(({ checks }) => checks)).length

/** A handler that takes longer than the acknowledgement timeout. */
const slow = `
import { setTimeout as wait } from 'node:timers/promises'
export default { type: '*', run: (event, ctx) => wait(30_000, undefined, { signal: ctx.signal }), timeoutMs: 60_000 }
`

test('R71 R72 R73 R75 R79 R88 R89 R90 R92 R103 R127 our sidecar passes every rule twice in a row, while a handler takes 30 s', async () => {
  await using sidecar = await Sidecar.start({
    env: { INBOX_SECRETS: `${testSecret},${nextSecret}` },
    handlers: { 'effects.mjs': effectsHandler({ busyMs: 5 }), 'slow.mjs': slow },
  })
  const { port } = new URL(sidecar.url)
  // The file is read before the first effect.
  await writeFile(sidecar.effectsFile, '', { flag: 'a' })
  await using control = await AppServer.start()
  control.answer = async () => {
    await sidecar.kill()
    await sidecar.start({ INBOX_PORT: port })
    return { status: 200 }
  }
  // Its lines are such as `evt_1 1 4711 end`.
  const effects = `awk '$4 == "end" { print $1 }' '${sidecar.effectsFile}'`
  const call = `fetch('${control.url}').then((answer) => process.exit(answer.ok ? 0 : 1))`
  const restart = `'${process.execPath}' -e "${call}"`
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
  await using server = await startSocketServer((socket) => {
    socket.on('data', () => isClosing && socket.resetAndDestroy())
  })
  const { port } = server
  const report = await conformance(`${protocol}://127.0.0.1:${port}/in?token=hidden`, 'acceptance', { timeoutMs: 500 })
  expect(report).toMatchObject({ outcome: 'unreachable', url: `${protocol}://127.0.0.1:${port}/in`, verdicts: [] })
  expect(report.reason).toContain(`the receiver could not be reached: ${reason}`)
})

test.each([
  ['exit 3', 'the command exited with 3; run it by hand to see its output'],
  ['http://127.0.0.1:3/effects', 'the connection was refused'],
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

/** An event as a receiver of these tests reads it. */
interface Posted {
  readonly id: string
  readonly createdAt: string
  readonly body: Buffer
  readonly signature: string
}

interface Behaviour {
  /** Default: the signature of the exact bytes. */
  readonly verify?: (posted: Posted) => boolean
  /** Does the work of an event. Default: once per id. */
  readonly handle?: (posted: Posted, done: string[]) => void | Promise<void>
  /** Called at a restart. */
  readonly restart?: (done: string[]) => void
  /** Reported effects, from the ids of all handled events. */
  readonly report?: (ids: readonly string[]) => readonly string[]
  /** Also handles rejected events. */
  readonly isCareless?: boolean
}

/** Tests a receiver that verifies signatures, and reports its effects as `report` returns them. */
async function withEffects(only: string, behaviour: Behaviour) {
  const { report = (ids) => ids, isCareless = false, verify = isSigned, handle = once, restart } = behaviour
  await using app = await AppServer.start()
  const done: string[] = []
  app.answer = async ({ method, path, body, headers }) => {
    if (path.endsWith('/restart')) restart?.(done)
    if (method === 'GET') return { status: 200, body: report(done).join('\n') }
    const [id] = /evt_conf[^"]*/.exec(body.toString()) ?? []
    const [, createdAt = ''] = /"created_at": ?"([^"]*)"/.exec(body.toString()) ?? []
    const posted = { id: id ?? '', createdAt, body, signature: String(headers['x-service-signature']) }
    const isRight = verify(posted)
    if (id !== undefined && (isRight || isCareless)) await handle(posted, done)
    return { status: isRight ? 200 : 401 }
  }
  const command = `'${process.execPath}' -e "fetch('${new URL('/restart', app.url).href}')"`
  const more = { nextSecret: testSecret, ...(restart && { restart: command }) }
  return await conformance(app.url, only, { effects: app.url, settleMs: 2_000, many: 20, ...more })
}

test('a receiver that reports its effects at a URL passes, even if effects of earlier runs are among them', async () => {
  const earlier = ['evt_conf_of_an_earlier_run_1', 'evt_conf_of_an_earlier_run_1', 'evt_7']
  const report = await withEffects('forgery,tampering,out-of-order,burst', { report: (ids) => [...earlier, ...ids] })
  expect(report).toMatchObject({ outcome: 'passed', failed: 0, notChecked: 0 })
})

const isSigned = ({ body, signature }: Posted) => signature === sign(body, testSecret)
const once = ({ id }: Posted, done: string[]) => void (done.includes(id) || done.push(id))

/** Verifies over JSON that it has written anew. */
const reserializing = {
  verify: ({ body, signature }: Posted) => {
    try {
      return signature === sign(Buffer.from(JSON.stringify(JSON.parse(body.toString()))), testSecret)
    } catch {
      return false
    }
  },
}
const emptySecret = { verify: (posted: Posted) => isSigned(posted) || posted.signature === sign(posted.body, '') }
/** Looks up, then inserts. */
const racing = {
  async handle({ id }: Posted, done: string[]) {
    if (done.includes(id)) return
    await wait(20)
    done.push(id)
  },
}
function forgettingOnRestart(): Behaviour {
  const known = new Set<string>()
  return {
    handle({ id }, done) {
      if (!known.has(id)) done.push(id)
      known.add(id)
    },
    restart: () => known.clear(),
  }
}
function droppingLateEvents(): Behaviour {
  let newest = ''
  return {
    handle(posted, done) {
      if (posted.createdAt < newest) return
      newest = posted.createdAt
      once(posted, done)
    },
  }
}

const lossy = { report: (ids: readonly string[]) => ids.slice(0, -3) }
const doubled = { report: (ids: readonly string[]) => [...ids, ...ids] }

test.each<[string, string, Behaviour, RegExp]>([
  ['P1', 'burst', lossy, /got: 3 of 20 acknowledged events not done within 2 s: evt_conf_\S+, evt_conf_/],
  ['R75', 'forgery', { isCareless: true }, /got: done: (evt_conf_\S+, ){2}evt_conf_\S+ and 12 more\nfix: do nothing/],
  ['R75', 'tampering', { isCareless: true }, /got: done: evt_conf_/],
  ['R88', 'repeated', doubled, /got: done 2 times: evt_conf_/],
  ['R88', 'burst', doubled, /got: done 2 times: evt_conf_/],
  ['R88 A52', 'at-once', racing, /got: done \d+ times: evt_conf_/],
  ['R90', 'restart', forgettingOnRestart(), /got: done 2 times: evt_conf_/],
  ['A44', 'out-of-order', droppingLateEvents(), /got: 3 of 4 acknowledged events not done within 2 s/],
])('%s a receiver with wrong effects fails %s', async (_, scenario, behaviour, detail) => {
  const failures = verdictsOf(await withEffects(scenario, behaviour), 'failed')
  expect(failures).toMatchObject([{ scenario, detail: expect.stringMatching(detail) }])
})

test('R73 R75 a receiver that verifies over parsed JSON, or accepts an empty secret, fails', async () => {
  const rules = async (only: string, behaviour: Behaviour) =>
    verdictsOf(await withEffects(only, behaviour), 'failed').map(({ scenario, rule, detail }) => [
      scenario,
      rule,
      detail,
    ])
  const parsed = await rules('raw-bytes', reserializing)
  expect(parsed.length).toBeGreaterThan(3)
  for (const [, , detail] of parsed) expect(detail).toContain('fix: compute the digest over the received bytes')
  const [empty] = await rules('forgery', emptySecret)
  expect(empty).toEqual([
    'forgery',
    expect.stringContaining('an empty secret is rejected'),
    expect.stringContaining('got: 200'),
  ])
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
