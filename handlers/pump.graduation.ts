import { defineHandler } from 'onchain-inbox'
import { formatEvent } from 'onchain-inbox/format'

/** Prints one line on a launch-platform token moving to an exchange pool. */
export default defineHandler({
  type: 'pump.graduation',
  run(event, ctx) {
    console.log(formatEvent(event, ctx))
  },
})
