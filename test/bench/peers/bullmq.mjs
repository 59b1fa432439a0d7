import { Queue, Worker } from 'bullmq'
import fastify from 'fastify'
import { Redis } from 'ioredis'
import { counters, handle, isHandling, isValid } from './serve.mjs'

/** Fastify and BullMQ on Redis. */
const connection = new Redis(Number(process.env.BENCH_STORE), { maxRetriesPerRequest: null })
const queue = new Queue('events', { connection })
if (isHandling) new Worker('events', async ({ data }) => handle(data), { connection, concurrency: 50 })

const app = fastify()
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
app.post('/webhooks', async (request, reply) => {
  if (!isValid(request.body, request.headers['x-service-signature'])) return reply.code(401).send()
  const event = JSON.parse(request.body.toString())
  await queue.add('event', event, { jobId: event.id, attempts: 10 })
  counters.accept()
  return { status: 'accepted', id: event.id }
})
app.get('/open', () => counters.open())
app.get('/open-ids', async () => (await queue.getJobs(['waiting', 'active', 'delayed'])).map(({ data }) => data.id))
await app.listen({ port: 0, host: '127.0.0.1' })
process.send({ port: app.server.address().port })
