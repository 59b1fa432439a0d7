import { defineHandler } from 'onchain-inbox'
import { formatEvent } from 'onchain-inbox/format'

/** Prints one line on liquidity leaving a pool. */
export default defineHandler({
  type: 'contract.liquidity_removed',
  run(event, ctx) {
    console.log(formatEvent(event, ctx))
  },
})
