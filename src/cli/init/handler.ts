/** The name of the handler, and of its files. */
export const handlerName = 'large-trades'

export const handlerFile = `import { defineHandler } from 'onchain-inbox'

/** Counts the large trades of each wallet, and logs them. Change it to what you need: what it may use is in docs/handlers.md. */
export default defineHandler({
  type: 'wallet.large_trade',
  async run(event, ctx) {
    const { wallet_address: wallet, trade_type: side, token_symbol: token } = event.data
    // What is written to the state is stored together with the end of this run: each event counts once, whatever crashes; a replay counts anew.
    const trades = ((await ctx.state.get<number>(wallet)) ?? 0) + 1
    ctx.state.set(wallet, trades)
    ctx.log.info({ wallet, side, token, usd: event.exact('data.amount_usd'), trades }, 'large trade')
  },
})
`

export const handlerTest = `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEvent, createTestInbox } from 'onchain-inbox/testing'
import largeTrades from '../handlers/large-trades.ts'

test('the trades of a wallet are counted, and an event that comes twice counts once', async () => {
  await using inbox = await createTestInbox({ handlers: [{ name: 'large-trades', ...largeTrades }] })
  const event = createEvent('wallet.large_trade', { data: { wallet_address: 'w', amount_usd: 250_000 } })
  assert.deepEqual(await inbox.deliver(event), { status: 200, body: { status: 'accepted', id: event.id } })
  assert.deepEqual(await inbox.deliver(event), { status: 200, body: { status: 'duplicate', id: event.id } })
  await inbox.deliver(createEvent('wallet.large_trade', { data: { wallet_address: 'w' } }))
  await inbox.idle()
  assert.deepEqual(await inbox.state('large-trades'), { w: 2 })
})
`
