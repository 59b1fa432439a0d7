import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import type { Logger } from '../../src/base/log.ts'
import { createRejectLog } from '../../src/receiver/rejects.ts'

const asked = { method: 'POST', path: '/webhooks' }

function stage(trustedProxies: readonly string[] = []) {
  const lines: object[] = []
  const clock = createTestClock()
  const log = { warn: (fields: object) => lines.push(fields) } as unknown as Logger
  const logReject = createRejectLog({ log, clock, trustedProxies, path: '/webhooks' })
  const reject = (
    remoteAddress: string,
    forwarded?: string,
    reason = 'signature_mismatch',
    url = '/webhooks?token=x',
  ) =>
    logReject(
      {
        method: 'POST',
        url,
        socket: { remoteAddress },
        headers: { 'x-forwarded-for': forwarded },
      } as unknown as IncomingMessage,
      reason,
    )
  return { lines, clock, reject }
}

test('a refused request is one line with its source, method, path without query, and reason', () => {
  const { lines, reject } = stage()
  reject('192.0.2.7')
  expect(lines).toEqual([{ ...asked, source: '192.0.2.7', reason: 'signature_mismatch' }])
})

test('a path that is not the one of the webhook may hold a secret: its length is logged', () => {
  const { lines, reject } = stage()
  for (const url of ['/hooks/a-secret?token=x', '/webhooks/', 'https://a.example/webhooks'])
    reject('192.0.2.7', undefined, 'not_found', url)
  expect(lines.map((line) => (line as { path: string }).path)).toEqual([
    'other (15 characters)',
    'other (10 characters)',
    'other (26 characters)',
  ])
})

test.each([
  ['a peer that is no trusted proxy is the source, whatever it forwards', '192.0.2.7', '198.51.100.1', '192.0.2.7'],
  ['a trusted proxy names the source', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
  ['an IPv4 proxy on an IPv6 socket is the same proxy', '::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
  ['behind two proxies it is the nearest that is none', '10.0.0.1', '203.0.113.9, 198.51.100.1, ::1', '198.51.100.1'],
  ['what only proxies forwarded has its peer as source', '10.0.0.1', '10.0.0.2,::1', '10.0.0.1'],
  ['a proxy that forwards nothing is the source', '10.0.0.1', undefined, '10.0.0.1'],
  ['nothing that a client writes breaks the line', '10.0.0.1', 'a\u001b[2Jb\nc', 'a\\u001b[2Jb\\u000ac'],
  ['or fills it', '10.0.0.1', 'x'.repeat(5_000), expect.stringMatching(/^x{64}…?$/)],
])('%s', (_what, peer, forwarded, source) => {
  const { lines, reject } = stage(['10.0.0.0/8', '::1'])
  reject(peer, forwarded)
  expect(lines).toEqual([{ ...asked, source, reason: 'signature_mismatch' }])
})

test('a flood is ten lines in ten seconds, and the next line says how many were left out', async () => {
  const { lines, clock, reject } = stage()
  for (let count = 0; count < 1_000; count++) reject('192.0.2.7')
  expect(lines).toHaveLength(10)
  await clock.advance(9_999)
  reject('192.0.2.7')
  expect(lines).toHaveLength(10)
  await clock.advance(1)
  reject('192.0.2.8', undefined, 'not_found')
  expect(lines.slice(10)).toEqual([{ ...asked, source: '192.0.2.8', reason: 'not_found', leftOut: 991 }])
  reject('192.0.2.8')
  expect(lines.at(-1)).not.toHaveProperty('leftOut')
})

test('a clock that is set back does not silence it', async () => {
  const { lines, clock, reject } = stage()
  for (let count = 0; count < 20; count++) reject('192.0.2.7')
  await clock.advance(-86_400_000)
  reject('192.0.2.7')
  expect(lines).toHaveLength(11)
})
