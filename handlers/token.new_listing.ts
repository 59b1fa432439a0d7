import { defineHandler } from 'onchain-inbox'
import { formatEvent } from 'onchain-inbox/format'

/** Prints one line on a new pool for a token not seen before. */
export default defineHandler({
  type: 'token.new_listing',
  run(event, ctx) {
    console.log(formatEvent(event, ctx))
  },
})
