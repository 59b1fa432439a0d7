import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { createDeliveryStage, outgoing, stageEndpoint } from './emulator-delivery-stage.ts'
import { answerStatus, createTestReceiver } from './emulator-receiver.ts'

const signature = (body: Buffer, secret: string) => createHmac('sha256', secret).update(body).digest('hex')

test('R63 A24 each endpoint is signed for with its own secret, also at the same URL', async () => {
  await using receiver = await createTestReceiver(answerStatus(200))
  const { deliveries, send } = createDeliveryStage([
    stageEndpoint(receiver.url, { id: 'wh_1', secret: 'secret-one' }),
    stageEndpoint(receiver.url, { id: 'wh_2', secret: 'secret-two' }),
  ])
  const event = outgoing()
  send(event)
  await deliveries.settled()
  expect(receiver.requests.map(({ body }) => body)).toEqual([event.body, event.body])
  const signatures = receiver.requests.map(({ headers }) => String(headers['x-service-signature']))
  expect(signatures.toSorted()).toEqual(
    ['secret-one', 'secret-two'].map((secret) => signature(event.body, secret)).toSorted(),
  )
})

test('A45 cancels the retries of a deleted endpoint; settled deliveries still count', async () => {
  await using receiver = await createTestReceiver((response, _request, index) => {
    response.writeHead(index === 0 ? 200 : 500).end()
  })
  const { clock, deliveries, endpoints, send } = createDeliveryStage([stageEndpoint(receiver.url)])
  send(outgoing(1))
  await deliveries.settled()
  send(outgoing(2))
  await deliveries.idle()
  expect(deliveries.counts()).toMatchObject({ acknowledged: 1, pending: 1 })
  endpoints.clear()
  deliveries.endpointsChanged()
  expect(deliveries.counts()).toMatchObject({ acknowledged: 1, undelivered: 0, cancelled: 1, pending: 0 })
  await deliveries.settled()
  expect(clock.nextTimerAt()).toBeNull()
  await clock.advance(3_600_000)
  expect(receiver.requests).toHaveLength(2)
  expect(deliveries.list({ state: 'cancelled' }, 10)).toMatchObject([{ eventId: outgoing(2).id, attempts: 1 }])
})

test('A45 cancels a delivery in flight when its endpoint is deleted', async () => {
  const answers: (() => void)[] = []
  await using receiver = await createTestReceiver((response) => answers.push(() => response.writeHead(500).end()))
  const { deliveries, endpoints, send } = createDeliveryStage([stageEndpoint(receiver.url)])
  send(outgoing())
  await receiver.received(1)
  endpoints.clear()
  deliveries.endpointsChanged()
  expect(deliveries.counts()).toMatchObject({ cancelled: 1, pending: 0, inFlight: 1 })
  answers[0]?.()
  await deliveries.settled()
  expect(deliveries.counts()).toMatchObject({ cancelled: 1, pending: 0, inFlight: 0 })
})

test('A32, A45 an endpoint that has changed gets its retry at the new URL, signed with the new secret', async () => {
  await using old = await createTestReceiver(answerStatus(500))
  await using fresh = await createTestReceiver(answerStatus(200))
  const { clock, deliveries, endpoints, send } = createDeliveryStage([stageEndpoint(old.url)])
  const event = outgoing()
  send(event)
  await deliveries.idle()
  endpoints.set('wh_1', stageEndpoint(fresh.url, { secret: 'secret-of-later' }))
  await clock.advance(60_000)
  await deliveries.settled()
  expect([old.requests.length, fresh.requests.length]).toEqual([1, 1])
  expect(fresh.requests[0]?.headers['x-service-signature']).toBe(signature(event.body, 'secret-of-later'))
  expect(deliveries.list({}, 1)).toMatchObject([{ url: fresh.url, state: 'acknowledged' }])
})
