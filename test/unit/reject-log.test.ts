import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import type { Logger } from '../../src/base/log.ts'
import { createRejectLog } from '../../src/receiver/rejects.ts'

const logged = { method: 'POST', path: '/webhooks' }

function stage(trustedProxies: readonly string[] = []) {
  const lines: object[] = []
  const clock = createTestClock()
  const log = { warn: (fields: object) => lines.push(fields) } as unknown as Logger
  const logReject = createRejectLog({ log, clock, trustedProxies, paths: ['/webhooks'] })
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

test('logs only the length of other paths, which may hold a secret', () => {
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
  ['without a trusted proxy the address is the peer', '192.0.2.7', '198.51.100.1', '192.0.2.7'],
  ['a trusted proxy forwards the address', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
  ['an IPv4 proxy on an IPv6 socket is trusted as well', '::ffff:10.0.0.1', '198.51.100.1', '198.51.100.1'],
  [
    'behind two proxies the nearest other address is used',
    '10.0.0.1',
    '203.0.113.9, 198.51.100.1, ::1',
    '198.51.100.1',
  ],
  ['with only proxies the address is the peer', '10.0.0.1', '10.0.0.2,::1', '10.0.0.1'],
  ['without a forwarded address it is the peer', '10.0.0.1', undefined, '10.0.0.1'],
  ['control characters are escaped', '10.0.0.1', 'a\u001b[2Jb\nc', 'a\\u001b[2Jb\\u000ac'],
  ['long addresses are cut', '10.0.0.1', 'x'.repeat(5_000), expect.stringMatching(/^x{64}…?$/)],
])('%s', (_what, peer, forwarded, client) => {
  const { lines, reject } = stage(['10.0.0.0/8', '::1'])
  reject(peer, forwarded)
  expect(lines).toEqual([{ ...logged, client, reason: 'signature_mismatch' }])
})

test('logs ten lines in ten seconds, then the number of skipped lines', async () => {
  const { lines, clock, reject } = stage()
  for (let count = 0; count < 1_000; count++) reject('192.0.2.7')
  expect(lines).toHaveLength(10)
  await clock.advance(9_999)
  reject('192.0.2.7')
  expect(lines).toHaveLength(10)
  await clock.advance(1)
  reject('192.0.2.8', undefined, 'not_found')
  expect(lines.slice(10)).toEqual([{ ...logged, client: '192.0.2.8', reason: 'not_found', leftOut: 991 }])
  reject('192.0.2.8')
  expect(lines.at(-1)).not.toHaveProperty('leftOut')
})
