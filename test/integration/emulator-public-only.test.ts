import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { createEmulator } from '../../src/emulator/emulator.ts'
import { createPoster } from '../../src/emulator/post.ts'
import { answerStatus, createTestReceiver } from './emulator-receiver.ts'
import { postJson, stageOf, testSeed } from './emulator-stage.ts'

const hosts = (
  '127.0.0.1 10.1.2.3 172.31.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 ' +
  '[::1] [::] [::ffff:127.0.0.1] [fe80::1] [fd00::1] localhost'
).split(' ')

test.each(hosts)('for public addresses only, nothing is sent to %s', async (host) => {
  const poster = createPoster(systemClock)
  onTestFinished(() => poster.close())
  for (const wire of [{ mode: 'whole' }, { mode: 'cut', share: 0.5 }] as const) {
    const result = await poster.post(new URL(`http://${host}:9/`), Buffer.from('{}'), {}, { isPublicOnly: true, wire })
    expect(result).toMatchObject({
      isAcknowledged: false,
      status: null,
      failure: expect.stringMatching(/address is not public/),
    })
  }
})

test('an emulator that listens beyond this machine sends to private addresses only what its operator wrote', async () => {
  await using own = await createTestReceiver(answerStatus(200))
  await using foreign = await createTestReceiver(answerStatus(200))
  await using emulator = createEmulator({
    seed: testSeed(),
    endpoints: [{ url: own.url, secret: 'whsec_0123456789abcdef' }],
    listen: { host: '0.0.0.0', port: 0 },
  })
  await emulator.start()
  const { status } = await stageOf(emulator).rest('/webhooks', postJson({ url: foreign.url, events: ['*'] }))
  expect(status).toBe(201)
  emulator.trigger('contract.ownership_changed')
  await emulator.deliveries.idle()
  expect([own.requests.length > 0, foreign.requests.length]).toEqual([true, 0])
  expect(emulator.deliveries.list({ state: 'failed' }, 1)).toMatchObject([
    { lastFailure: expect.stringMatching(/public/) },
  ])
})
