import express from 'express'
import type { AddressInfo } from 'node:net'

// The ceiling for reads: an Express route that returns constant JSON of the size in the path.
const app = express()
app.disable('etag')
app.get('/:bytes', (request, response) => {
  response.json({ padding: 'x'.repeat(Math.max(0, Number(request.params.bytes) - '{"padding":""}'.length)) })
})
// The receiver of deliveries: accepts everything unread.
app.post('/hook', (request, response) => {
  request.resume().on('end', () => response.end())
})
const server = app.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('SIGTERM', () => process.exit(0))
