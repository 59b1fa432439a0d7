import { beforeAll, expect, test } from 'vitest'
import { createEmulator } from '../../src/emulator/emulator.ts'
import { readAsyncApi, readOpenApi } from '../support/openapi-document.ts'
import { answerStatus, createTestReceiver } from './emulator-receiver.ts'
import { testSeed } from './emulator-stage.ts'

const openApi = readOpenApi()
const asyncApi = readAsyncApi()

interface Delivery {
  readonly method: string | undefined
  readonly headers: Readonly<Record<string, unknown>>
  readonly event: { readonly type: string }
}
const deliveries: Delivery[] = []

beforeAll(async () => {
  await using receiver = await createTestReceiver(answerStatus(200))
  await using emulator = createEmulator({ seed: testSeed(), endpoints: [{ url: receiver.url, secret: 'a secret' }] })
  await emulator.start()
  const { world, accounts } = emulator
  const [account] = accounts.accounts()
  const [token] = world.views.tokens()
  const { network, address } = token!
  for (const [type, factor] of [
    ['price_above', 1.05],
    ['price_below', 0.95],
  ] as const) {
    const threshold = world.views.token(token!).price_usd * factor
    const webhookUrl = 'https://hooks.example.com/'
    accounts.addAlert(account!.accountId, { type, network, address, threshold, webhookUrl, label: null })
  }
  for (const percent of [10, -20]) world.commands.apply({ kind: 'price-move', network, token: address, percent })
  emulator.tour()
  await emulator.advance(3_600_000)
  for (const { method, headers, body } of receiver.requests) {
    deliveries.push({ method, headers, event: JSON.parse(body.toString()) })
  }
})

test.each([...openApi.webhooks])(
  'R71 R78 R92 deliveries of %s match the OpenAPI and AsyncAPI documents',
  (type, webhook) => {
    const found = deliveries.filter(({ event }) => event.type === type)
    expect(found.length).toBeGreaterThan(0)
    const message = asyncApi.messages.get(type)!
    const named = Object.keys(asyncApi.resolve(message.headers)['properties'])
    for (const { method, headers, event } of found) {
      expect(method).toBe('POST')
      expect(headers['content-type']).toBe('application/json')
      for (const { name, required, schema } of webhook.headers) {
        expect(required, name).toBe(true)
        expect(openApi.problemsOf(schema, headers[name.toLowerCase()]), name).toEqual([])
      }
      expect(openApi.strictProblemsOf(webhook.schema, event)).toEqual([])
      const given = Object.fromEntries(named.map((name) => [name, headers[name.toLowerCase()]]))
      expect(asyncApi.problemsOf(message.headers, given)).toEqual([])
      expect(asyncApi.strictProblemsOf(message.payload, event)).toEqual([])
    }
  },
)
