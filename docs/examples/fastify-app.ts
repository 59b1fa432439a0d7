import Fastify from 'fastify'
import { createInbox, defineHandler } from 'onchain-inbox'

const riskChanges = defineHandler({
  name: 'risk-changes',
  type: 'token.risk_change',
  run: (event, ctx) => ctx.state.set(event.data.token_address, event.data.risk_level),
})

export const inbox = createInbox({
  secrets: process.env.WEBHOOK_SECRET,
  database: process.env.INBOX_DATABASE ?? 'sqlite:./data/inbox.db',
  handlers: [riskChanges],
})

export const app = Fastify({ bodyLimit: 1024 * 1024 })

// In this scope, bodies stay bytes. Fastify parses all others as usual.
await app.register(async (webhooks) => {
  webhooks.removeAllContentTypeParsers()
  webhooks.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  webhooks.post<{ Body: Buffer | undefined }>('/webhooks', async (request, reply) => {
    const { headers, body, ip: remoteAddress } = request
    const answer = await inbox.receive({ headers, body, remoteAddress })
    return reply.code(answer.status).headers(answer.headers).send(answer.body)
  })
})
app.get('/health', (_request, reply) => reply.code(inbox.health().ok ? 200 : 503).send(inbox.health()))
// Fastify takes no more requests first, and then waits for this.
app.addHook('onClose', () => inbox.stop())

await inbox.start()
await app.listen({ port: Number(process.env.PORT ?? 3000) })

process.once('SIGTERM', () => void app.close().catch(console.error))
