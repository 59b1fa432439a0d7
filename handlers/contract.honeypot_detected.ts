import { defineHandler } from 'onchain-inbox'
import { formatEvent } from 'onchain-inbox/format'

/** Prints one line on a contract whose buyers cannot sell. */
export default defineHandler({
  type: 'contract.honeypot_detected',
  run(event, ctx) {
    console.log(formatEvent(event, ctx))
  },
})
