import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { createInbox, defineHandler } from 'onchain-inbox'
import { createEvent, signedRequest } from 'onchain-inbox/testing'
import { expect, test } from 'vitest'

test('the webhook of the app accepts signed events and rejects others', async () => {
  const secret = 'a-secret-for-this-test'
  const audit = defineHandler({ name: 'audit', type: '*', run() {} })
  await using inbox = createInbox({ secrets: secret, database: 'memory:', handlers: [audit] })
  await inbox.start()
  const server = express().use('/webhooks', inbox.router).listen(0)
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`

  const event = createEvent('token.risk_change', { data: { risk_level: 'critical' } })
  const handled = once(inbox.events, 'handled')
  expect((await fetch(url, signedRequest(event, secret))).status).toBe(200)
  expect(await handled).toMatchObject([{ handler: 'audit', eventId: event.id }])
  expect((await fetch(url, signedRequest(event, 'another-secret-than-that'))).status).toBe(401)
  server.close()
})
