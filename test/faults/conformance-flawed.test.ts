import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import {
  conformance,
  failedScenarios,
  nextSecret,
  startRestartable,
  verdictsOf,
  type Restartable,
} from '../integration/conformance-stage.ts'
import { testSecret } from '../support/app.ts'

const flawedReceiver = fileURLToPath(new URL('../fixtures/flawed/flawed-receiver.ts', import.meta.url))
const both = `${testSecret},${nextSecret}`
const quick = { nextSecret, many: 20, settleMs: 5_000 }

const receiverWith = (flaw: string, secrets = both) =>
  startRestartable({ command: [process.execPath, flawedReceiver], env: { FLAW: flaw, INBOX_SECRETS: secrets } })

test('R73 (f) from outside: a receiver that verifies over parsed JSON fails', async () => {
  await using receiver = await receiverWith('f')
  const report = await conformance(receiver.sidecar.url, 'acceptance,raw-bytes', quick)
  // Two forms happen to be the bytes that JavaScript would write.
  expect(failedScenarios(report)).toEqual(Array(6).fill('raw-bytes'))
  expect(report.verdicts[10]?.detail).toContain('fix: compute the digest over the received bytes')
})

test('R75 (g) from outside: a receiver that accepts an empty secret fails', async () => {
  await using receiver = await receiverWith('g', `${both},`)
  const failures = verdictsOf(await conformance(receiver.sidecar.url, 'forgery,rotation', quick), 'failed')
  expect(failures).toMatchObject([
    {
      rule: 'an event with a digest made with an empty secret is rejected',
      detail: expect.stringMatching(/got: 200 after .*\nfix: if only this is accepted, one of the secrets/),
    },
  ])
})

test('A30 A31 (h) from outside: a receiver that crashes on a signature of another length fails, and the rest is not checked', async () => {
  await using receiver = await receiverWith('h')
  const report = await conformance(receiver.sidecar.url, null, { ...quick, timeoutMs: 1_000 })
  const [failure, ...more] = verdictsOf(report, 'failed')
  expect(more).toEqual([])
  expect(failure).toMatchObject({ scenario: 'forgery', rule: 'an event with no signature is rejected' })
  expect(failure?.detail).toContain('got: the connection was cut without an answer')
  expect(failure?.detail).toContain('comparing digests of different length throws')
  expect(report.reason).toContain('the receiver no longer answers: the connection was refused')
  const after = report.verdicts.slice(report.verdicts.findIndex(({ verdict }) => verdict === 'failed') + 1)
  expect(new Set(after.map(({ verdict }) => verdict))).toEqual(new Set(['not checked']))
})

const twice = /got: done \d+ times: evt_conf_/

test.each<[string, string, string, (receiver: Restartable) => object, readonly string[], RegExp]>([
  ['R88 A52 (c)', 'looks up, then inserts', 'repeated,at-once', () => ({}), ['at-once'], twice],
  [
    'A44 (k)',
    'drops events older than the newest one',
    'out-of-order,burst',
    () => ({}),
    ['out-of-order'],
    /got: 3 of 4 acknowledged events not done within 5 s/,
  ],
  ['R90 (i)', 'forgets ids on restart', 'repeated,restart', ({ restart }) => ({ restart }), ['restart'], twice],
])('%s with --effects: a receiver that %s fails', async (rules, _, only, more, scenarios, detail) => {
  await using receiver = await receiverWith(/\((.)\)/.exec(rules)?.[1] ?? '')
  const { sidecar, effects } = receiver
  const report = await conformance(sidecar.url, only, { ...quick, effects, ...more(receiver) })
  expect(failedScenarios(report)).toEqual(scenarios)
  for (const failure of verdictsOf(report, 'failed')) expect(failure.detail).toMatch(detail)
})
