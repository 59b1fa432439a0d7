import { spawnSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { systemClock, type Clock } from '../../src/base/clock.ts'
import { sign } from '../../src/signature/sign.ts'
import { counts } from '../counts.ts'
import { has } from '../support/tools.ts'
import { createDeliveryStage, outgoing, stageEndpoint } from './emulator-delivery-stage.ts'
import { answerStatus, createTestReceiver } from './emulator-receiver.ts'

/** Vectors of RFC 4231, test cases 1, 2 and 6: key and data as text or bytes. */
const vectors = [
  [Buffer.alloc(20, 0x0b), 'Hi There', 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7'],
  [
    Buffer.from('Jefe'),
    'what do ya want for nothing?',
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  ],
] as const

test.each(vectors)('R72 the digest is HMAC-SHA256 in lower-case hex: vector %#', (key, data, expected) => {
  expect(sign(Buffer.from(data), key.toString('latin1'))).toBe(expected)
})

/** What a tool makes of a body on its standard input. */
function digestBy(command: string, args: readonly string[], body: Buffer): string | undefined {
  const { status, stdout } = spawnSync(command, args, { input: body })
  expect(status).toBe(0)
  return /[0-9a-f]{64}/.exec(stdout.toString())?.[0]
}

const secret = 'whsec_é and "quotes"'
const python = `import hashlib, hmac, sys
print(hmac.new(sys.argv[1].encode(), sys.stdin.buffer.read(), hashlib.sha256).hexdigest())`
const tools = [
  ['openssl', ['dgst', '-sha256', '-hmac', secret]],
  ['python3', ['-c', python, secret]],
] as const

describe.each(tools)('%s', (tool, args) => {
  test.skipIf(!has(tool))(
    `R71 R72 what is sent verifies with it, over the bytes as they came (needs ${tool})`,
    async () => {
      await using receiver = await createTestReceiver(answerStatus(200))
      const { deliveries, send } = createDeliveryStage([stageEndpoint(receiver.url, { secret })])
      send(outgoing())
      await deliveries.settled()
      const [request] = receiver.requests
      const digest = digestBy(tool, args, request!.body)
      expect(digest).toBeDefined()
      expect(request!.headers['x-service-signature']).toBe(digest)
      expect(digestBy(tool, args, Buffer.from(JSON.stringify(JSON.parse(request!.body.toString()))))).not.toBe(digest)
    },
  )
})

/** The system's clock, so many times as fast. */
function faster(speed: number): Clock {
  const startedAt = systemClock.now()
  return {
    ...systemClock,
    now: () => Math.floor(startedAt + (systemClock.now() - startedAt) * speed),
    after: (ms, fn) => systemClock.after(ms / speed, fn),
  }
}

test(
  `R81 the first retry comes a minute after the failure, in real time times ${counts.rungSpeed}`,
  { timeout: 90_000 },
  async () => {
    const times: number[] = []
    await using receiver = await createTestReceiver((response, _request, index) => {
      times.push(performance.now() * counts.rungSpeed)
      response.writeHead(index === 0 ? 500 : 200).end()
    })
    const { deliveries, send } = createDeliveryStage([stageEndpoint(receiver.url)], {
      realClock: faster(counts.rungSpeed),
    })
    send(outgoing())
    await deliveries.settled()
    const [first = 0, second = 0] = times
    expect((second - first) / 1000).toBeGreaterThanOrEqual(59)
    expect((second - first) / 1000).toBeLessThan(59 + 20 * counts.rungSpeed)
  },
)
