import { createHmac, timingSafeEqual } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import express from 'express'
import getRawBody from 'raw-body'

/** Shared by all peers: the check of the signature, the handler, and the counters that the bench asks for. */
const secret = process.env.BENCH_SECRET
/** The file where the handler notes each event; none while speed is measured. */
const effects = process.env.BENCH_EFFECTS
let accepted = 0
let handled = 0

/** False: events are only stored. */
export const isHandling = process.env.BENCH_HANDLES === 'true'

export function isValid(raw, signature) {
  const digest = createHmac('sha256', secret).update(raw).digest()
  const given = Buffer.from(String(signature), 'hex')
  return given.length === digest.length && timingSafeEqual(given, digest)
}

/** The handler of the bench. */
export function handle({ id }) {
  if (effects !== undefined) appendFileSync(effects, `${id}\n`)
  handled++
}

/** Serves deliveries: `store` resolves when an event is durable. `openIds`: ids of stored events that have not been handled. */
export function serve(store, openIds) {
  const app = express()
  app.post('/webhooks', async (request, response) => {
    const raw = await getRawBody(request, { limit: '1mb', length: request.headers['content-length'] })
    if (!isValid(raw, request.headers['x-service-signature'])) return response.status(401).end()
    const event = JSON.parse(raw.toString())
    await store(event, raw)
    accepted++
    return response.json({ status: 'accepted', id: event.id })
  })
  app.get('/open', (_request, response) => response.json(accepted - handled))
  app.get('/open-ids', async (_request, response) => response.json(await openIds()))
  const server = app.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))
}

/** For a peer with another web framework. */
export const counters = { accept: () => accepted++, open: () => accepted - handled }
