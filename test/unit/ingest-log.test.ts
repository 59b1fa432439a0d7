import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import type { Logger } from '../../src/base/log.ts'
import { createIngest } from '../../src/receiver/ingest.ts'
import { createDefaultReader } from '../../src/receiver/readers.ts'
import { parseSecrets } from '../../src/signature/keys.ts'
import { sign } from '../../src/signature/sign.ts'
import type { CommitResult } from '../../src/receiver/group-commit.ts'
import { testSecret } from '../support/app.ts'
import { eventBytes } from '../support/signed.ts'

/** An ingest whose store returns the result of `commit`; `deliver` sends a signed body. */
function stage(commit: () => Promise<CommitResult>) {
  const clock = createTestClock()
  const lines: object[] = []
  const write = (fields: object) => void lines.push(fields)
  const secrets = parseSecrets(testSecret)
  const ingest = createIngest({
    commits: { add: commit },
    read: createDefaultReader({ secrets: () => secrets, signatureHeader: 'x', clock }),
    clock,
    log: { warn: write, error: write } as unknown as Logger,
    observer: { stored() {}, rejected() {}, refused() {} },
    unusableStatus: 200,
  })
  return {
    clock,
    lines,
    deliver: (raw: Buffer) => ingest({ raw, headers: { x: sign(raw, testSecret) }, rawHeaders: [] }),
  }
}

test.each([
  ['a conflict', eventBytes({ id: 'a' }), () => Promise.resolve('conflict' as const), { eventId: 'a' }],
  ['a quarantined body', Buffer.from('{'), () => Promise.resolve('quarantined' as const), { reason: 'not_json' }],
  ['a failure', eventBytes({ id: 'a' }), () => Promise.reject(new Error('no such table')), { error: 'no such table' }],
])('P6 %s is logged at most ten times in ten seconds', async (_, body, commit, fields) => {
  const { clock, lines, deliver } = stage(commit)
  for (let count = 0; count < 1_000; count++) await deliver(body)
  expect(lines).toHaveLength(10)
  expect(lines[9]).toMatchObject(fields)
  await clock.advance(10_000)
  await deliver(body)
  expect(lines.slice(10)).toEqual([expect.objectContaining({ ...fields, leftOut: 990 })])
})
