import { defineHandler } from 'onchain-inbox'

export default defineHandler({
  type: 'contract.liquidity_removed',
  key: ['data.network', 'data.pool_address'],
  onDead: 'hold',
  from: 'beginning',
  async run(event, ctx) {
    const { pool_address: pool, remaining_liquidity_usd: remaining, tx_hash: hash } = event.data
    if (remaining < 0) throw new Error(`${hash} leaves less than nothing in ${pool}`)
    const rows = (await ctx.state.get<string[]>(pool)) ?? []
    if (!rows.includes(hash)) ctx.state.set(pool, [...rows, hash].slice(-100))
  },
})
