import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { createEmulator, type Emulator } from '../../src/emulator/emulator.ts'
import { answerStatus, createTestReceiver, type TestReceiver } from './emulator-receiver.ts'
import { postJson, stageOf, testSeed } from './emulator-stage.ts'

const alertSecret = 'whsec_of-the-alerts-of-the-account'
const webhookSecret = 'whsec_of-the-webhook-of-the-account'

/** An emulator with one account, a webhook for everything, and somewhere else for the alerts. */
async function start(hook: TestReceiver, { oneShot = false, history = '2h' } = {}): Promise<Emulator> {
  const emulator = createEmulator({
    seed: testSeed({
      world: { seed: 'alerts', history },
      alerts: { oneShot },
      accounts: [
        {
          name: 'desk',
          plan: 'unlimited',
          alertSecret,
          keys: [{ name: 'first', key: 'sk_api-key-of-the-test-0001', scopes: 'all' }],
          webhooks: [{ url: hook.url, events: ['*'], secret: webhookSecret }],
        },
        { name: 'other', plan: 'free', webhooks: [{ url: 'http://127.0.0.1:9/', events: ['*'] }] },
      ],
    }),
    listen: { host: '127.0.0.1', port: 0 },
  })
  await emulator.start()
  emulator.world.acts.apply({ kind: 'activity', factor: 0 })
  return emulator
}

/** Creates an alert by REST, as a client would. */
async function createAlert(emulator: Emulator, body: object): Promise<string> {
  const { status, json } = await stageOf(emulator).rest('/alerts', postJson(body))
  expect(status, JSON.stringify(json)).toBe(201)
  return json.data.alert_id
}

const parse = ({ body }: { readonly body: Buffer }) => JSON.parse(body.toString())
const signature = (body: Buffer, secret: string) => createHmac('sha256', secret).update(body).digest('hex')

// unit/world-fire-alert has the other types.
const cases = [
  { type: 'price_above', event: 'token.price_alert', toWebhook: 1 },
  { type: 'volume_spike', event: 'token.volume_spike', toWebhook: 1 },
  { type: 'whale_sell', event: 'wallet.large_trade', toWebhook: 0 },
] as const

test.each(cases)(
  'R35 R42 A41 A42 an alert of $type that is met POSTs $event to its own URL, signed with the alert secret; one id everywhere',
  async ({ type, event, toWebhook }) => {
    await using hook = await createTestReceiver(answerStatus(200))
    await using own = await createTestReceiver(answerStatus(200))
    await using emulator = await start(hook, { history: type === 'volume_spike' ? '26h' : '6h' })
    const { views, acts } = emulator.world
    const token = views
      .tokens()
      .map((ref) => views.token(ref))
      .toSorted((a, b) => b.volume_24h_usd - a.volume_24h_usd)[0]!
    const watchesWallet = type === 'whale_sell'
    const tracked = new Set(views.trackedWallets().map(({ address }) => address))
    const wallet = views
      .wallets()
      .find(({ network, address, tradeCount }) => network === token.network && tradeCount > 3 && !tracked.has(address))!
    const alertId = await createAlert(emulator, {
      type,
      address: watchesWallet ? wallet.address : token.address,
      network: token.network,
      threshold: type === 'price_above' ? token.price_usd * 1.05 : watchesWallet ? 2_500 : 400,
      webhook_url: own.url,
      label: 'of the test',
    })
    acts.apply({ kind: 'fire-alert', alertId })
    await emulator.deliveries.settled()

    const [sent] = own.requests.filter((request) => parse(request).type === event)
    expect(sent, own.requests.map((request) => parse(request).type).join()).toBeDefined()
    expect(sent!.headers['x-service-signature']).toBe(signature(sent!.body, alertSecret))
    const same = hook.requests.filter((request) => parse(request).id === parse(sent!).id)
    expect(same).toHaveLength(toWebhook)
    for (const request of same) {
      expect(request.body).toEqual(sent!.body)
      expect(request.headers['x-service-signature']).toBe(signature(request.body, webhookSecret))
    }
  },
)

test('R35 R46 R81 an alert POSTs to its own URL with the ladder of all events, and a deleted alert gets no more (A45)', async () => {
  await using hook = await createTestReceiver(answerStatus(200))
  await using own = await createTestReceiver(answerStatus(500))
  await using emulator = await start(hook)
  const [ref] = emulator.world.views.tokens()
  const { network, address, price_usd } = emulator.world.views.token(ref!)
  const alertId = await createAlert(emulator, {
    type: 'price_above',
    network,
    address,
    threshold: price_usd * 1.03,
    webhook_url: own.url,
  })
  emulator.world.acts.apply({ kind: 'fire-alert', alertId })
  await emulator.deliveries.idle()
  const sent = own.requests.length
  expect(sent).toBeGreaterThan(0)
  await emulator.advance(60_000)
  expect(own.requests.length).toBe(2 * sent)
  await stageOf(emulator).rest(`/alerts/${alertId}`, { method: 'DELETE' })
  await emulator.advance(24 * 3_600_000)
  expect(own.requests.length).toBe(2 * sent)
  expect(emulator.deliveries.list({ endpoint: alertId }, 1)).toMatchObject([{ state: 'cancelled' }])
})

test('A17 with oneShot an alert fires once, and its status is triggered from then on', async () => {
  await using hook = await createTestReceiver(answerStatus(200))
  await using own = await createTestReceiver(answerStatus(200))
  await using emulator = await start(hook, { oneShot: true })
  const { views, acts } = emulator.world
  const [ref] = views.tokens()
  const { network, address, price_usd } = views.token(ref!)
  const threshold = price_usd * 1.03
  const alertId = await createAlert(emulator, {
    type: 'price_above',
    network,
    address,
    threshold,
    webhook_url: own.url,
  })
  const read = async () => (await stageOf(emulator).rest(`/alerts/${alertId}`)).json.data.status
  expect(await read()).toBe('active')
  acts.apply({ kind: 'fire-alert', alertId })
  expect(await read()).toBe('triggered')
  await emulator.advance(10 * 60_000)
  acts.apply({ kind: 'price-move', network, token: address, priceUsd: threshold * 0.9 })
  acts.apply({ kind: 'price-move', network, token: address, priceUsd: threshold * 1.1 })
  await emulator.deliveries.settled()
  expect(own.requests).toHaveLength(1)
})
