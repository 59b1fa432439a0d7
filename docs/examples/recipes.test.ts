import { createEvent, createTestInbox } from 'onchain-inbox/testing'
import { afterEach, expect, test, vi } from 'vitest'
import notifyOnce from './notify-once.ts'
import poolLedger from './pool-ledger.ts'
import waitForBlock from './wait-for-block.ts'

afterEach(() => vi.restoreAllMocks())

test('notifies once per token and day', async () => {
  await using inbox = await createTestInbox({ handlers: [{ name: 'notify-once', ...notifyOnce }], sinks: ['chat'] })
  const alert = (token_address: string) =>
    createEvent('token.price_alert', {
      created_at: new Date(inbox.clock.now()).toISOString(),
      data: { token_address, symbol: 'PEPE', current_price_usd: 0.5 },
    })
  for (const token of ['a', 'a', 'b']) await inbox.deliver(alert(token))
  await inbox.idle()
  expect(inbox.items('chat')).toHaveLength(2)
  await inbox.advance(24 * 3_600_000)
  await inbox.deliver(alert('a'))
  await inbox.idle()
  expect(inbox.items('chat').map(({ payload }) => payload)).toContainEqual({ text: 'PEPE is at 0.5 USD' })
  expect(inbox.items('chat')).toHaveLength(3)
})

test('a dead letter blocks only its own pool', async () => {
  await using inbox = await createTestInbox({
    handlers: [{ name: 'pool-ledger', ...poolLedger, retry: { attempts: 1 } }],
  })
  const removal = (pool_address: string, tx_hash: string, remaining_liquidity_usd: number) =>
    createEvent('contract.liquidity_removed', {
      data: { network: 'base', pool_address, tx_hash, remaining_liquidity_usd },
    })
  const [bad, behind, other] = [removal('p', 't1', -1), removal('p', 't2', 5), removal('q', 't3', 5)]
  for (const event of [bad, behind, other]) await inbox.deliver(event)
  await inbox.idle()
  expect(await inbox.runs(bad.id)).toMatchObject([{ state: 'held' }])
  expect(await inbox.runs(behind.id)).toMatchObject([{ state: 'waiting' }])
  expect(await inbox.state('pool-ledger')).toEqual({ q: ['t3'] })
})

test('checks a trade two minutes after it was made', async () => {
  await using inbox = await createTestInbox({ handlers: [{ name: 'wait', ...waitForBlock }], sinks: ['ledger'] })
  vi.spyOn(Date, 'now').mockImplementation(() => inbox.clock.now())
  vi.spyOn(globalThis, 'fetch').mockImplementation(async () => new Response('{}'))
  const created_at = new Date(inbox.clock.now()).toISOString()
  const event = createEvent('wallet.large_trade', { created_at, data: { tx_hash: '0xabc' } })
  await inbox.deliver(event)
  await inbox.idle()
  expect(await inbox.runs(event.id)).toMatchObject([{ state: 'ready', attempt: 0 }])
  await inbox.advance(120_000)
  await inbox.idle()
  expect(inbox.items('ledger')).toMatchObject([{ payload: { tx: '0xabc' } }])
})
