import { defineHandler } from 'onchain-inbox'
import { formatEvent } from 'onchain-inbox/format'

/** Prints one line on a large trade of a tracked wallet. */
export default defineHandler({
  type: 'wallet.large_trade',
  run(event, ctx) {
    console.log(formatEvent(event, ctx))
  },
})
