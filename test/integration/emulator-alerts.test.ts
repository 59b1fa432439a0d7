import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { createEmulator } from '../../src/emulator/emulator.ts'
import { answerStatus, createTestReceiver, type TestReceiver } from './emulator-receiver.ts'
import { apiKey, postJson, stageOf, testSeed } from './emulator-stage.ts'

const alertSecret = 'whsec_of-the-alerts-of-the-account'
const webhookSecret = 'whsec_of-the-webhook-of-the-account'

/** An emulator without spontaneous trades. Its first account has a webhook for all events. */
async function start(hook: TestReceiver, oneShot = false) {
  const emulator = createEmulator({
    seed: testSeed({
      world: { seed: 'alerts', history: '0s', activity: 0 },
      alerts: { oneShot },
      accounts: [
        {
          name: 'desk',
          plan: 'unlimited',
          alertSecret,
          keys: [{ name: 'first', key: apiKey, scopes: 'all' }],
          webhooks: [{ url: hook.url, events: ['*'], secret: webhookSecret }],
        },
        { name: 'other', plan: 'free', webhooks: [{ url: 'http://127.0.0.1:9/', events: ['*'] }] },
      ],
    }),
    listen: { host: '127.0.0.1', port: 0 },
  })
  await emulator.start()
  const { commands, views } = emulator.world
  const token = views.token(views.tokens()[0]!)
  const place = { network: token.network, token: token.address }
  return {
    emulator,
    token,
    priceMove: (priceUsd: number) => commands.apply({ kind: 'price-move', ...place, priceUsd }),
    [Symbol.asyncDispose]: () => emulator.stop(),
  }
}

type Started = Awaited<ReturnType<typeof start>>

/** Creates an alert by REST. Returns its id. */
async function createAlert({ emulator, token }: Started, body: object): Promise<string> {
  const alert = { address: token.address, network: token.network, ...body }
  const { status, json } = await stageOf(emulator).rest('/alerts', postJson(alert))
  expect(status, JSON.stringify(json)).toBe(201)
  return json.data.alert_id
}

const parse = ({ body }: { readonly body: Buffer }) => JSON.parse(body.toString())
const signature = (body: Buffer, secret: string) => createHmac('sha256', secret).update(body).digest('hex')

test('R35 R42 A41 A42 an alert POSTs its event to its own URL, signed with the alert secret; one id everywhere', async () => {
  await using hook = await createTestReceiver(answerStatus(200))
  await using own = await createTestReceiver(answerStatus(200))
  await using started = await start(hook)
  const { token, priceMove } = started
  await createAlert(started, { type: 'price_above', webhook_url: own.url, threshold: token.price_usd * 1.05 })
  priceMove(token.price_usd * 1.06)
  await started.emulator.deliveries.settled()

  const [sent] = own.requests
  expect(own.requests.map((request) => parse(request).type)).toEqual(['token.price_alert'])
  expect(sent!.headers['x-service-signature']).toBe(signature(sent!.body, alertSecret))
  const [same, ...others] = hook.requests.filter((request) => parse(request).id === parse(sent!).id)
  expect([same!.body, others]).toEqual([sent!.body, []])
  expect(same!.headers['x-service-signature']).toBe(signature(same!.body, webhookSecret))
})

test('A17 a one-shot alert fires once, and its status is triggered from then on', async () => {
  await using hook = await createTestReceiver(answerStatus(200))
  await using own = await createTestReceiver(answerStatus(200))
  await using started = await start(hook, true)
  const { emulator, token, priceMove } = started
  const threshold = token.price_usd * 1.03
  const alertId = await createAlert(started, { type: 'price_above', threshold, webhook_url: own.url })
  const read = async () => (await stageOf(emulator).rest(`/alerts/${alertId}`)).json.data.status
  expect(await read()).toBe('active')
  priceMove(threshold * 1.01)
  expect(await read()).toBe('triggered')
  await emulator.advance(10 * 60_000)
  priceMove(threshold * 0.9)
  priceMove(threshold * 1.1)
  await emulator.deliveries.settled()
  expect(own.requests).toHaveLength(1)
})
