import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { createInbox, defineHandler } from 'onchain-inbox'

const newListings = defineHandler({
  name: 'new-listings',
  type: 'token.new_listing',
  run: (event, ctx) => ctx.state.set(event.data.token_address, event.data.symbol),
})

export const inbox = createInbox({
  secrets: process.env.WEBHOOK_SECRET,
  database: process.env.INBOX_DATABASE ?? 'sqlite:./data/inbox.db',
  handlers: [newListings],
})

const app = new Hono()
app.post('/webhooks', bodyLimit({ maxSize: 1024 * 1024 }), async (c) => {
  // The bytes, not `c.req.json()` or `c.req.text()`.
  const { status, headers, body } = await inbox.receive({
    headers: c.req.raw.headers,
    body: await c.req.arrayBuffer(),
  })
  return new Response(body, { status, headers })
})
app.get('/health', (c) => c.json(inbox.health(), inbox.health().ok ? 200 : 503))

await inbox.start()
export const server = serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) })

process.once('SIGTERM', () => {
  server.close()
  inbox.stop().catch(console.error)
})
