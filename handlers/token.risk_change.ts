import { defineHandler } from 'onchain-inbox'
import { formatEvent } from 'onchain-inbox/format'

/** Prints one line on a jump of the audit risk score of a token. */
export default defineHandler({
  type: 'token.risk_change',
  run(event, ctx) {
    console.log(formatEvent(event, ctx))
  },
})
