import { expect, test } from 'vitest'
import { networkIds } from '../../schema/index.ts'
import { createEmulator } from '../../src/emulator/emulator.ts'
import { newWallet } from '../support/world.ts'
import { answerStatus, createTestReceiver } from './emulator-receiver.ts'
import { testSeed } from './emulator-stage.ts'

const secret = 'whsec_0123456789abcdef'
const closedPort = 'http://127.0.0.1:9'
const alert = { type: 'price_above', address: newWallet, network: 'base', threshold: 1, webhookUrl: closedPort }

test('alerts of the seed are near present prices on all networks, and some fire within hours', async () => {
  await using receiver = await createTestReceiver(answerStatus(200))
  const seed = testSeed({ accounts: [{ name: 'desk', plan: 'pro', priceAlerts: 28 }] })
  const endpoints = [{ url: receiver.url, secret, events: ['token.price_alert'] }]
  await using emulator = createEmulator({ seed, endpoints })
  await emulator.start()
  const { accounts, world } = emulator
  const alerts = accounts.alerts(accounts.accounts()[0]?.accountId ?? '')
  expect(alerts).toHaveLength(28)
  expect(new Set(alerts.map(({ network }) => network))).toEqual(new Set(networkIds))
  for (const { type, network, address, threshold } of alerts) {
    const token = world.views.findToken(network, address)
    const ratio = threshold / (token === null ? NaN : world.views.token(token).price_usd)
    expect(type === 'price_above' ? ratio - 1 : 1 - ratio).toSatisfy((part: number) => part > 0.009 && part < 0.061)
  }
  await emulator.advance(8 * 3_600_000)
  expect(receiver.requests.length).toBeGreaterThan(0)
})

test.each([
  ['alerts', { alerts: Array(51).fill(alert), priceAlerts: 50 }],
  ['webhooks', { webhooks: Array(20).fill({ url: `${closedPort}/1`, events: ['*'] }) }],
])('a start rejects a seed that leaves no room for its %s', async (items, more) => {
  const seed = testSeed({ accounts: [{ name: 'desk', plan: 'pro', ...more }] })
  await using emulator = createEmulator({ seed, endpoints: [{ url: closedPort, secret }] })
  const message = expect.stringContaining(`0 ${items}; delete one`)
  await expect(emulator.start()).rejects.toMatchObject({ code: 'config_invalid', message })
})
