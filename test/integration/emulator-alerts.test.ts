import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { createEmulator } from '../../src/emulator/emulator.ts'
import { answerStatus, createTestReceiver, type TestReceiver } from './emulator-receiver.ts'
import { apiKey, postJson, stageOf, testSeed } from './emulator-stage.ts'

const alertSecret = 'whsec_of-the-alerts-of-the-account'
const webhookSecret = 'whsec_of-the-webhook-of-the-account'
const wallet = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const hourMs = 3_600_000

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
    buy: (usd: number) => commands.apply({ kind: 'trade', ...place, wallet, side: 'buy', usd }),
    sellAll: () => commands.apply({ kind: 'trade', ...place, wallet, side: 'sell' }),
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

const cases = [
  {
    type: 'price_above',
    event: 'token.price_alert',
    toWebhook: 1,
    alert: ({ token }: Started) => ({ threshold: token.price_usd * 1.05 }),
    act: ({ token, priceMove }: Started) => priceMove(token.price_usd * 1.06),
  },
  {
    type: 'whale_sell',
    event: 'wallet.large_trade',
    toWebhook: 0,
    alert: () => ({ address: wallet, threshold: 500 }),
    act: ({ sellAll }: Started) => sellAll(),
  },
] as const

test.each(cases)(
  'R35 R42 A41 A42 a $type alert POSTs $event to its own URL, signed with the alert secret; one id everywhere',
  async ({ type, event, toWebhook, alert, act }) => {
    await using hook = await createTestReceiver(answerStatus(200))
    await using own = await createTestReceiver(answerStatus(200))
    await using started = await start(hook)
    started.buy(1000)
    await started.emulator.advance(2 * hourMs)
    await createAlert(started, { type, webhook_url: own.url, ...alert(started) })
    act(started)
    await started.emulator.deliveries.settled()

    const [sent] = own.requests
    expect(own.requests.map((request) => parse(request).type)).toEqual([event])
    expect(sent!.headers['x-service-signature']).toBe(signature(sent!.body, alertSecret))
    const same = hook.requests.filter((request) => parse(request).id === parse(sent!).id)
    expect(same).toHaveLength(toWebhook)
    for (const request of same) {
      expect(request.body).toEqual(sent!.body)
      expect(request.headers['x-service-signature']).toBe(signature(request.body, webhookSecret))
    }
  },
)

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
