import express from 'express'
import type { AddressInfo } from 'node:net'

// A receiver that answers at once and stores nothing.
const app = express()
app.post('/hook', (request, response) => {
  request.resume().on('end', () => response.end())
})
const server = app.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
process.on('SIGTERM', () => process.exit(0))
