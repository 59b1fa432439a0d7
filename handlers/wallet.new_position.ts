import { defineHandler } from 'onchain-inbox'
import { formatEvent } from 'onchain-inbox/format'

/** Prints one line on a tracked wallet buying a token it had not held. */
export default defineHandler({
  type: 'wallet.new_position',
  run(event, ctx) {
    console.log(formatEvent(event, ctx))
  },
})
