import { expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { listen, login, startDashboard, type DashboardStage } from './emulator-dashboard-stage.ts'
import { answerStatus, createTestReceiver } from './emulator-receiver.ts'

async function startStreaming(types: string) {
  const wall = createTestClock()
  const stage = await startDashboard({}, { wall })
  await stage.browser.ask('POST', '/session', login)
  const stream = await listen(`${stage.url}/_emulator/stream?types=${types}`, { Cookie: stage.browser.cookie ?? '' })
  expect(await stream.next()).toBe('alive')
  return { ...stage, wall, stream }
}

async function trigger(stage: DashboardStage): Promise<void> {
  const { status, text } = await stage.browser.ask('POST', '/trigger', { type: 'contract.ownership_changed' })
  expect([status, text]).toEqual([200, text])
}

test('publishes the clock when it is set, advanced or restored', async () => {
  await using stage = await startStreaming('clock')
  const changes: [string, unknown][] = [
    ['/clock/advance', { ms: 60_000 }],
    ['/clock', { mode: 'manual' }],
    ['/reset', undefined],
  ]
  await trigger(stage)
  for (const [path, body] of changes) {
    const { json } = await stage.browser.ask('POST', path, body)
    const { mode, speed, now } = json.data
    expect(await stage.stream.next()).toEqual({ kind: 'clock', data: { mode, speed, now } })
  }
})

test('R87 publishes attempts as they end, as the log of the delivery lists them', async () => {
  await using receiver = await createTestReceiver(answerStatus(503))
  await using stage = await startStreaming('attempt')
  await stage.browser.ask('POST', '/webhooks', { url: receiver.url, events: ['contract.ownership_changed'] })
  await trigger(stage)
  const message = await stage.stream.next()
  if (message === null || message === 'alive') throw new Error('expected an attempt')
  const { deliveryId, eventId, eventType, endpointId, url, outcome, ...attempt } = message.data as Record<
    string,
    unknown
  >
  const { log, ...delivery } = (await stage.browser.ask('GET', `/deliveries/${String(deliveryId)}`)).json.data
  expect([message.kind, log, outcome]).toEqual(['attempt', [attempt], 'failed'])
  expect(delivery).toMatchObject({ deliveryId, eventId, eventType, endpointId, url: receiver.url, lastStatus: 503 })
  expect(url).toBe(receiver.url)
})
