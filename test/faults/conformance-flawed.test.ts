import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import {
  conformance,
  nextSecret,
  parseLines,
  rulesOf,
  startRestartable,
  type Restartable,
} from '../integration/conformance-stage.ts'
import { testSecret } from '../support/app.ts'

const flawedReceiver = fileURLToPath(new URL('../fixtures/flawed/flawed-receiver.ts', import.meta.url))
const both = `${testSecret},${nextSecret}`

const receiverWith = (flaw: string, secrets = both) =>
  startRestartable({ command: [process.execPath, flawedReceiver], env: { FLAW: flaw, INBOX_SECRETS: secrets } })

async function verdictsOf({ sidecar }: Restartable, ...more: readonly string[]) {
  const args = ['--url', sidecar.url, '--next-secret', 'env:NEXT', '--many', '20', '--settle', '5', '--json']
  const { code, out } = await conformance(...args, ...more)
  const { verdicts, summary } = parseLines(out)
  const failures = verdicts.filter(({ verdict }) => verdict === 'failed')
  return { code, out, verdicts, summary, failures }
}

test('R73 (f) from outside: a receiver that verifies over JSON made anew', async () => {
  await using receiver = await receiverWith('f')
  const { code, verdicts } = await verdictsOf(receiver, '--only', 'acceptance,raw-bytes')
  expect(code).toBe(1)
  // By luck it makes the same bytes of what JavaScript would have written.
  expect(rulesOf(verdicts, 'failed')).toEqual(Array(6).fill('R73 raw-bytes'))
  expect(rulesOf(verdicts, 'passed').filter((rule) => rule.startsWith('R92'))).toHaveLength(10)
})

test('R75 (g) from outside: a receiver that takes an empty secret', async () => {
  await using receiver = await receiverWith('g', `${both},`)
  const { code, failures } = await verdictsOf(receiver, '--skip', 'slow,sizes')
  expect(code).toBe(1)
  expect(failures).toHaveLength(1)
  expect(failures[0]).toMatchObject({ rule: 'R75', title: 'a signature made with an empty secret is refused' })
  expect(failures[0]?.detail).toMatch(/came: 200 after .*\nto do: one of the secrets of the receiver is empty/)
})

test('A30 A31 (h) from outside: a receiver that throws on a signature of another length, and what follows is not checked', async () => {
  await using receiver = await receiverWith('h')
  const { code, failures, summary, verdicts } = await verdictsOf(receiver, '--timeout', '1')
  expect(code).toBe(1)
  expect(failures).toHaveLength(1)
  expect(failures[0]).toMatchObject({ rule: 'A31', scenario: 'forgery' })
  expect(failures[0]?.detail).toContain('came: the connection was cut without an answer')
  expect(failures[0]?.detail).toContain('comparing digests of different length throws')
  expect(summary.reason).toContain('the receiver does not answer any more: the connection was refused')
  const after = verdicts.slice(verdicts.findIndex(({ verdict }) => verdict === 'failed') + 1)
  expect(after.every(({ verdict }) => verdict === 'not checked')).toBe(true)
})

test('R88 A52 (c) with --effects: a receiver that looks up, then inserts', async () => {
  await using receiver = await receiverWith('c')
  const { code, out, failures } = await verdictsOf(receiver, ...receiver.effects, '--only', 'repeated,at-once,race')
  expect(code).toBe(1)
  expect(rulesOf(failures, 'failed'), out).toEqual(['R88 at-once', 'R88 race'])
  for (const { detail } of failures) expect(detail).toMatch(/came: done \d+ times: evt_conf_/)
})

test('R88 (e) with --effects: a receiver that has the effect before it looks whether it knows the event', async () => {
  await using receiver = await receiverWith('e')
  const { code, failures } = await verdictsOf(receiver, ...receiver.effects, '--only', 'repeated,at-once,late')
  expect(code).toBe(1)
  expect(rulesOf(failures, 'failed')).toEqual(['R88 repeated', 'R88 at-once', 'R88 late'])
})

test('A44 (k) with --effects: a receiver that drops what arose before the newest event', async () => {
  await using receiver = await receiverWith('k')
  const { code, out, failures } = await verdictsOf(receiver, ...receiver.effects, '--only', 'order,out-of-order,burst')
  expect(code).toBe(1)
  expect(rulesOf(failures, 'failed'), out).toEqual(['A44 out-of-order'])
  expect(failures[0]?.detail).toContain('came: 3 of 4 acknowledged events not done within 5 s')
})

test('R90 (i) with --restart and --effects: a receiver that forgets ids on restart', async () => {
  await using receiver = await receiverWith('i')
  const args = [...receiver.effects, ...receiver.restart, '--only', 'repeated,restart']
  const { code, out, failures } = await verdictsOf(receiver, ...args)
  expect(code).toBe(1)
  expect(rulesOf(failures, 'failed'), out).toEqual(['R90 restart'])
  expect(failures[0]?.detail).toContain('came: done 2 times: evt_conf_')
})

test('a receiver without a flaw passes with everything on', async () => {
  await using receiver = await receiverWith('none')
  const args = [...receiver.effects, ...receiver.restart, '--settle', '60', '--many', '200']
  const { code, out, verdicts, summary } = await verdictsOf(receiver, ...args)
  expect(rulesOf(verdicts, 'failed'), out).toEqual([])
  expect({ code, ...summary }).toMatchObject({ code: 0, outcome: 'passed', passed: verdicts.length, notChecked: 0 })
})
