import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { testSecret } from '../support/app.ts'
import { has } from '../support/tools.ts'
import { conformance, nextSecret, startRestartable, verdictsOf } from './conformance-stage.ts'

const command = ['python3', fileURLToPath(new URL('../fixtures/receiver.py', import.meta.url))]
const withPython = test.skipIf(!has('python3'))

withPython(
  'R73 R75 R88 R90 a receiver in Python that keeps the rules passes all of them (needs python3)',
  async () => {
    const env = { INBOX_SECRETS: `${testSecret},${nextSecret}` }
    await using receiver = await startRestartable({ command, env })
    const { sidecar, effects, restart } = receiver
    // It is slow: threads and one lock.
    const patience = { many: 60, timeoutMs: 30_000, settleMs: 60_000 }
    const report = await conformance(sidecar.url, null, { nextSecret, effects, restart, ...patience })
    expect(verdictsOf(report, 'failed')).toEqual([])
    expect(report).toMatchObject({ outcome: 'passed', passed: report.verdicts.length })
  },
  120_000,
)

withPython('R73 a receiver in Python that verifies over parsed JSON fails (needs python3)', async () => {
  await using receiver = await startRestartable({ command, env: { FLAW: 'json' } })
  const report = await conformance(receiver.sidecar.url, 'acceptance,raw-bytes')
  expect(report.outcome).toBe('failed')
  // Its JSON library writes a space after each comma, so this form passes by luck.
  expect(verdictsOf(report, 'passed').filter(({ scenario }) => scenario === 'raw-bytes')).toMatchObject([
    { rule: 'JSON with a space after each comma and colon is accepted' },
  ])
})
