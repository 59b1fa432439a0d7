import { defineHandler } from 'onchain-inbox'
import { formatEvent } from 'onchain-inbox/format'

/** Prints one line on a contract changing its owner. */
export default defineHandler({
  type: 'contract.ownership_changed',
  run(event, ctx) {
    console.log(formatEvent(event, ctx))
  },
})
