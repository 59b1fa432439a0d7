import { defineHandler } from 'onchain-inbox'
import { formatEvent } from 'onchain-inbox/format'

/** Prints one line on a tracked wallet passing a milestone of realized profit or loss. */
export default defineHandler({
  type: 'wallet.pnl_milestone',
  run(event, ctx) {
    console.log(formatEvent(event, ctx))
  },
})
