import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { testSecret } from '../support/app.ts'
import { has } from '../support/tools.ts'
import { conformance, nextSecret, parseLines, rulesOf, startRestartable } from './conformance-stage.ts'

const command = ['python3', fileURLToPath(new URL('../fixtures/receiver.py', import.meta.url))]
const withPython = test.skipIf(!has('python3'))

withPython(
  'R73 R75 R88 R90 a receiver in Python that keeps the rules passes all of them (needs python3)',
  async () => {
    const env = { INBOX_SECRETS: `${testSecret},${nextSecret}` }
    await using receiver = await startRestartable({ command, env })
    const { sidecar, effects, restart } = receiver
    // Threads and one lock: it is to be right, not fast.
    const patience = ['--many', '60', '--timeout', '30', '--settle', '60']
    const args = ['--url', sidecar.url, '--next-secret', 'env:NEXT', '--json', ...effects, ...restart]
    const { code, out } = await conformance(...args, ...patience)
    const { summary, verdicts } = parseLines(out)
    expect(rulesOf(verdicts, 'failed'), out).toEqual([])
    expect({ code, ...summary }).toMatchObject({ code: 0, passed: verdicts.length })
  },
  120_000,
)

withPython('R73 a receiver in Python that verifies over JSON made anew fails (needs python3)', async () => {
  await using receiver = await startRestartable({ command, env: { FLAW: 'json' } })
  const { code, out } = await conformance('--url', receiver.sidecar.url, '--only', 'acceptance,raw-bytes', '--json')
  const { verdicts, summary } = parseLines(out)
  expect(code).toBe(1)
  expect(summary.outcome).toBe('failed')
  // Its JSON library puts a space after each comma, so that it passes this form by luck.
  expect(verdicts.filter(({ verdict, rule }) => verdict === 'passed' && rule === 'R73')).toMatchObject([
    { title: 'JSON with a space after each comma and colon is taken' },
  ])
})
