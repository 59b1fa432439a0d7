import { createEvent, createTestInbox } from 'onchain-inbox/testing'
import { afterEach, expect, test, vi } from 'vitest'
import bigTrades from './big-trades.ts'

const options = { handlers: [{ name: 'big-trades', ...bigTrades }], sinks: ['mail'] }
const addressBook = vi.spyOn(globalThis, 'fetch')
afterEach(() => addressBook.mockReset())

test('sends a mail for a big trade and counts the trades of the wallet', async () => {
  addressBook.mockImplementation(async () => Response.json({ owner: 'Whale 7' }))
  await using inbox = await createTestInbox(options)
  const event = createEvent('wallet.large_trade', { data: { wallet_address: 'w', amount_usd: 250_000 } })
  expect(await inbox.deliver(event)).toEqual({ status: 200, body: { status: 'accepted', id: event.id } })
  // The same event again changes nothing.
  await inbox.deliver(event)
  await inbox.deliver(createEvent('wallet.large_trade', { data: { wallet_address: 'w', amount_usd: 100_000 } }))
  await inbox.idle()
  expect(inbox.items('mail')).toMatchObject([
    { payload: { subject: 'Whale 7 traded for 250000 USD', trades: 1 }, idempotencyKey: `big-trades:${event.id}:0` },
    { payload: { trades: 2 } },
  ])
  expect(await inbox.state('big-trades')).toEqual({ w: 2 })
})

test('retries with growing delays while the address book is down', async () => {
  addressBook.mockImplementation(async () => new Response(null, { status: 503 }))
  await using inbox = await createTestInbox(options)
  const event = createEvent('wallet.large_trade', { data: { amount_usd: 250_000 } })
  await inbox.deliver(event)
  await inbox.idle()
  expect(await inbox.runs(event.id)).toMatchObject([{ state: 'ready', attempt: 1 }])

  addressBook.mockImplementation(async () => Response.json({ owner: 'Whale 7' }))
  await inbox.advance(1_000)
  expect(await inbox.runs(event.id)).toMatchObject([
    { state: 'done', attempt: 2, attempts: [{ error: { message: 'the address book answered 503' } }, { error: null }] },
    { handler: 'mail', state: 'done' },
  ])
})

test('an unknown wallet becomes a dead letter', async () => {
  addressBook.mockImplementation(async () => new Response(null, { status: 404 }))
  await using inbox = await createTestInbox(options)
  await inbox.deliver(createEvent('wallet.large_trade', { data: { wallet_address: 'w', amount_usd: 250_000 } }))
  await inbox.idle()
  expect(await inbox.deadLetters()).toMatchObject([{ handler: 'big-trades', error: { message: 'unknown wallet w' } }])
})

test('skips trades below 100,000 USD', async () => {
  await using inbox = await createTestInbox(options)
  const event = createEvent('wallet.large_trade', { data: { amount_usd: 99_999.99 } })
  await inbox.deliver(event)
  await inbox.idle()
  expect(await inbox.runs(event.id)).toMatchObject([{ state: 'unmatched' }])
})
