import { defineHandler } from 'onchain-inbox'
import { formatEvent } from 'onchain-inbox/format'

/** Prints one line on a token price crossing a configured threshold. */
export default defineHandler({
  type: 'token.price_alert',
  run(event, ctx) {
    console.log(formatEvent(event, ctx))
  },
})
