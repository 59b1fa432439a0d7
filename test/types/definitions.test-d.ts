// Checked by `tsc -p tsconfig.json`; nothing here runs.
import { createInbox, defineHandler, defineSink } from '../../src/index.ts'
import { createEvent, createTestInbox } from '../../src/app/testing/index.ts'

const handlers = [
  defineHandler({ name: 'a', type: 'wallet.large_trade', match: (event) => event.data.amount_usd > 1, run() {} }),
  defineHandler({ name: 'b', type: ['token.*', 'pump.graduation'], async run() {} }),
  defineHandler({ name: 'c', type: 'a.new_type', run() {} }),
  defineSink({ name: 'd', send() {} }),
  defineSink({ name: 'e', type: ['wallet.large_trade'], send: ([item]) => void item?.event.data.amount_usd }),
]
createInbox({ handlers, secrets: process.env.WEBHOOK_SECRET })
void createTestInbox({ handlers })
// @ts-expect-error -- neither a handler nor a sink
createInbox({ handlers: [{ name: 'f', type: '*' }] })

createEvent('wallet.large_trade').data.amount_usd.toFixed()
// @ts-expect-error -- a field of another type of event
createEvent('wallet.large_trade', { data: { sol_raised: 1 } })
// @ts-expect-error -- another type of value
createEvent('wallet.large_trade', { data: { amount_usd: '1' } })
// @ts-expect-error -- no documented type
createEvent('a.new_type')
