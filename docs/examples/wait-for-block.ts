import { defineHandler } from 'onchain-inbox'

const confirmationMs = 120_000

export default defineHandler({
  type: 'wallet.large_trade',
  rate: 5,
  async run(event, ctx) {
    const ageMs = Date.now() - Date.parse(event.created_at)
    if (ageMs < confirmationMs) return ctx.snooze(confirmationMs - ageMs)
    const response = await fetch(`http://127.0.0.1:8545/tx/${event.data.tx_hash}`, { signal: ctx.signal })
    if (!response.ok) throw new Error(`the node answered ${response.status}`)
    ctx.enqueue('ledger', { tx: event.data.tx_hash, usd: event.exact('data.amount_usd') })
  },
})
