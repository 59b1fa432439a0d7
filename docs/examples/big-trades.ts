import { defineHandler, TerminalError } from 'onchain-inbox'

export default defineHandler({
  type: 'wallet.large_trade',
  match: (event) => event.data.amount_usd >= 100_000,
  async run(event, ctx) {
    const { wallet_address: wallet, amount_usd: usd } = event.data
    const response = await fetch(`http://127.0.0.1:3000/owners/${wallet}`, { signal: ctx.signal })
    if (response.status === 404) throw new TerminalError(`unknown wallet ${wallet}`)
    if (!response.ok) throw new Error(`the address book answered ${response.status}`)
    const { owner } = (await response.json()) as { owner: string }

    const trades = ((await ctx.state.get<number>(wallet)) ?? 0) + 1
    ctx.state.set(wallet, trades)
    ctx.enqueue('mail', { subject: `${owner} traded for ${usd} USD`, trades })
  },
})
