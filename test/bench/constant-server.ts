import express from 'express'
import type { AddressInfo } from 'node:net'

// What reads are compared with: an Express route that answers constant JSON of the size that is asked for.
const app = express()
app.disable('etag')
app.get('/:bytes', (request, response) => {
  response.json({ padding: 'x'.repeat(Math.max(0, Number(request.params.bytes) - '{"padding":""}'.length)) })
})
// And what posts are sent to: nothing is looked at, everything is taken.
app.post('/hook', (request, response) => {
  request.resume().on('end', () => response.end())
})
const server = app.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('SIGTERM', () => process.exit(0))
