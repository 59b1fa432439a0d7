import { defineHandler } from 'onchain-inbox'

const dayMs = 24 * 3_600_000

export default defineHandler({
  type: 'token.price_alert',
  maxAgeMs: dayMs,
  async run(event, ctx) {
    const key = `notified:${event.data.token_address}`
    if (ctx.isReplay || (await ctx.state.get(key))) return
    ctx.state.set(key, true, { ttlMs: dayMs })
    ctx.enqueue('chat', { text: `${event.data.symbol} is at ${event.exact('data.current_price_usd')} USD` })
  },
})
