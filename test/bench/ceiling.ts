import { createHmac, timingSafeEqual } from 'node:crypto'
import getRawBody from 'raw-body'
import { bareExpress } from '../../src/base/http/bare-express.ts'

/** The ceiling: the same Express app that reads the raw body, verifies the HMAC, parses, and answers without storing. */
const secret = process.env['BENCH_SECRET'] ?? ''
const app = bareExpress()
app.post('/webhooks', async (request, response) => {
  const raw = await getRawBody(request, { limit: 1024 * 1024, length: Number(request.headers['content-length']) })
  const digest = createHmac('sha256', secret).update(raw).digest()
  const given = Buffer.from(String(request.headers['x-service-signature']), 'hex')
  if (given.length !== digest.length || !timingSafeEqual(given, digest)) {
    response.writeHead(401).end()
    return
  }
  const event = JSON.parse(raw.toString()) as { id: string }
  const body = `{"status":"accepted","id":${JSON.stringify(event.id)}}`
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) })
  response.end(body)
})
const server = app.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.send?.({ port: typeof address === 'object' ? address?.port : 0 })
})
