import { expect, test } from 'vitest'
import { logRemark, remark } from '../../src/cli/demo-remarks.ts'
import type { AttemptReport } from '../../src/emulator/emulator.ts'

const attempt: AttemptReport = {
  deliveryId: 'dlv_1',
  eventId: 'evt_1',
  eventType: 'wallet.large_trade',
  endpointId: 'wh_1',
  url: 'http://127.0.0.1:8080/webhooks',
  outcome: 'acknowledged',
  attempt: 1,
  at: 1_000,
  status: 200,
  failure: null,
  latencyMs: 3,
  isExtra: false,
  faults: [],
  requestHeaders: {},
  responseHeaders: {},
  responseExcerpt: '{"status":"accepted","id":"evt_1"}',
  nextAttemptAt: null,
}
const duplicate = { responseExcerpt: '{"status":"duplicate","id":"evt_1"}' }
const refused = { outcome: 'failed', status: 401, responseExcerpt: '', nextAttemptAt: 61_003 } as const

test.each<[string, Partial<AttemptReport>, string]>([
  [
    'an extra delivery (R88)',
    { ...duplicate, isExtra: true, faults: ['duplicate'] },
    'delivered twice; answered 200 as a duplicate; not handled again',
  ],
  [
    'a deliberate failure, with its retry (R81)',
    { ...refused, faults: ['signature-bad'] },
    'wrong signature, on purpose; answered 401; next attempt in 1 min',
  ],
  [
    'a lost acknowledgement',
    { ...refused, status: 200, faults: ['drop-ack'], failure: 'answered 200; the fault drop-ack discarded it' },
    'acknowledgement lost, on purpose; answered 200; next attempt in 1 min',
  ],
  [
    'a fault of the operator',
    { ...refused, status: null, failure: 'the connection was cut', faults: ['reset'], nextAttemptAt: 7_201_000 },
    'reset on purpose; the connection was cut; next attempt in 2 h',
  ],
  [
    'the last failure (R86)',
    { ...refused, outcome: 'undelivered', status: 503, nextAttemptAt: null },
    'answered 503; not retried',
  ],
])('describes %s', (_what, changes, text) => {
  const line = remark({ ...attempt, ...changes }) ?? ''
  expect(line.replace(/^ {10}↳ wallet\.large_trade evt_1:? /, '')).toBe(text)
})

test('describes a failed attempt with its handler frame and replay', () => {
  const entry = {
    level: 'warn',
    time: '2026-01-01T00:00:00.000Z',
    msg: 'attempt failed, retry scheduled',
    handler: 'trades',
    eventId: 'evt_1',
    replay: 3,
    error: 'Error: down',
    frame: 'at run (/handlers/trades.ts:8:11)',
    nextAt: '2026-01-01T00:00:02.000Z',
  }
  const failed = 'trades failed on evt_1 in replay 3 (Error: down) at run (/handlers/trades.ts:8:11)'
  expect(logRemark(entry, '')).toContain(`${failed}; next attempt in 2 s`)
  const dead = { ...entry, nextAt: undefined }
  expect(logRemark(dead, 'npx onchain-inbox dead list')).toContain(
    `${failed}; now a dead letter: npx onchain-inbox dead list`,
  )
})
