import express from 'express'
import { createInbox, defineHandler } from 'onchain-inbox'

const largeTrades = defineHandler({
  name: 'large-trades',
  type: 'wallet.large_trade',
  async run(event, ctx) {
    const sum = (await ctx.state.get<number>(event.data.wallet_address)) ?? 0
    ctx.state.set(event.data.wallet_address, sum + event.data.amount_usd)
  },
})

export const inbox = createInbox({
  secrets: process.env.WEBHOOK_SECRET,
  database: process.env.INBOX_DATABASE ?? 'sqlite:./data/inbox.db',
  handlers: [largeTrades],
})
inbox.events.on('dead', ({ handler, eventId, error }) =>
  console.error(`${handler} gave up ${eventId}: ${error.message}`),
)
inbox.events.on('failed', () => process.kill(process.pid, 'SIGTERM'))

const app = express()
app.use('/webhooks', inbox.router) // before express.json()
app.use(express.json())
app.get('/health', (_request, response) => void response.status(inbox.health().ok ? 200 : 503).json(inbox.health()))

await inbox.start()
export const server = app.listen(Number(process.env.PORT ?? 3000))

process.once('SIGTERM', () => {
  server.close()
  inbox.stop().catch(console.error)
})
