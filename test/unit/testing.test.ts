import {
  createTestClock,
  createEvent,
  createTestInbox,
  signedRequest,
  type TestInboxOptions,
} from 'onchain-inbox/testing'
import { defineHandler, defineSink } from 'onchain-inbox'
import { eventSchemas, eventTypes } from 'onchain-inbox/schema'
import express from 'express'
import request from 'supertest'
import { describe, expect, test } from 'vitest'
import { parseSecrets } from '../../src/signature/keys.ts'
import { verify } from '../../src/signature/verify.ts'

const secret = 'the-secret-of-the-tests'

test.each(eventTypes)('createEvent creates a valid %s with a unique id', (type) => {
  const [first, second] = [createEvent(type), createEvent(type)]
  expect(eventSchemas[type].parse(first)).toEqual(first)
  expect(first.id).not.toBe(second.id)
  expect({ ...second, id: first.id }).toEqual(first)
  expect(Date.parse(first.created_at)).toBe(createTestClock().now())
})

test('createEvent applies overrides and changes nothing else; lists are replaced as a whole, and shared by none', () => {
  const sample = createEvent('wallet.large_trade')
  const changed = createEvent('wallet.large_trade', { id: 'evt_1', data: { amount_usd: 0, network: '柴犬' } })
  const data = { ...sample.data, amount_usd: 0, network: '柴犬' }
  expect(changed).toEqual({ ...sample, id: 'evt_1', data })
  const event = createEvent('token.risk_change', { data: { triggered_checks: ['proxy'] } })
  expect(event.data.triggered_checks).toEqual(['proxy'])
  createEvent('token.risk_change').data.triggered_checks.push('mine')
  expect(createEvent('token.risk_change').data.triggered_checks).not.toContain('mine')
})

test('createEvent refuses an invalid event', () => {
  expect(() => createEvent('pump.graduation', { created_at: 'today' })).toThrow(/^Not a valid pump.graduation event/)
  expect(() => createEvent('pump.graduation', { data: { sol_raised: NaN } })).toThrow(TypeError)
  // @ts-expect-error -- no such field
  createEvent('pump.graduation', { data: { sol_rised: 1 } })
})

test('signedRequest signs the bytes that fetch and supertest send', async () => {
  const app = express().post('/', express.raw({ type: '*/*' }), (incoming, response) => {
    const signature = incoming.get('X-Hook-Signature')
    response.json(verify(incoming.body as Buffer, signature, parseSecrets(secret)).ok)
  })
  const signed = signedRequest(createEvent('wallet.new_position', { data: { token_symbol: '柴犬' } }), secret, {
    signatureHeader: 'X-Hook-Signature',
  })
  expect((await request(app).post('/').set(signed.headers).send(signed.body)).body).toBe(true)
  const server = app.listen(0)
  const { port } = server.address() as { port: number }
  expect(await (await fetch(`http://127.0.0.1:${port}/`, signed)).json()).toBe(true)
  server.close()
})

describe('createTestInbox', () => {
  const seen: string[] = []
  const handler = (name: string, run: (attempt: number) => void) =>
    defineHandler({ name, type: '*', run: (_event, ctx) => run(ctx.attempt) })

  test('answers as the sender is answered', async () => {
    await using inbox = await createTestInbox({ handlers: [] })
    const event = createEvent('token.price_alert')
    expect(await inbox.deliver(event)).toEqual({ status: 200, body: { status: 'accepted', id: event.id } })
    expect(await inbox.deliver(event)).toEqual({ status: 200, body: { status: 'duplicate', id: event.id } })
    expect(await inbox.deliver('{')).toMatchObject({ status: 200, body: { status: 'quarantined' } })
    expect(await inbox.runs('unknown')).toEqual([])
  })

  test('runs all attempts of a failing run in the time that passes, up to the dead letter', async () => {
    const fail = handler('fails', () => {
      throw new Error('no')
    })
    await using inbox = await createTestInbox({ handlers: [fail] })
    const event = createEvent('token.price_alert')
    await inbox.deliver(event)
    await inbox.advance(600_000)
    expect(await inbox.deadLetters()).toMatchObject([{ handler: 'fails', attempt: 10, error: { message: 'no' } }])
    const [run] = await inbox.runs(event.id)
    expect(run!.attempts).toHaveLength(10)
    expect(inbox.clock.now()).toBe(createTestClock().now() + 600_000)
  })

  test('waits in idle for handlers that wait for the world outside, and ends hanging ones by their timeout', async () => {
    const slow = defineHandler({
      name: 'slow',
      type: '*',
      async run(event) {
        await new Promise((resolve) => setTimeout(resolve, 30))
        seen.push(event.id)
      },
    })
    const hangs = defineHandler({
      name: 'hangs',
      type: '*',
      retry: { attempts: 1 },
      run: (_event, ctx) =>
        new Promise((_resolve, reject) =>
          ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error)),
        ),
    })
    const event = createEvent('token.price_alert')
    {
      await using inbox = await createTestInbox({ handlers: [slow] })
      await inbox.deliver(event)
      await inbox.idle()
      expect(seen).toEqual([event.id])
    }
    await using inbox = await createTestInbox({ handlers: [hangs] })
    await inbox.deliver(event)
    await inbox.advance(30_000)
    await inbox.idle()
    expect(await inbox.deadLetters()).toMatchObject([{ error: { name: 'handler_timeout' } }])
  })

  test('has real and collecting sinks, and advances a snooze of a day', async () => {
    const sent: unknown[] = []
    let hasSnoozed = false
    const handlers = [
      defineHandler({
        name: 'h',
        type: 'wallet.*',
        async run(event, ctx) {
          const known = await ctx.state.get<boolean>('known')
          ctx.enqueue('kept', { id: event.id })
          ctx.enqueue('real', known ?? false)
          ctx.state.set('known', true)
          if (event.type !== 'wallet.pnl_milestone' || hasSnoozed) return
          hasSnoozed = true
          ctx.snooze(86_400_000)
        },
      }),
      defineSink({ name: 'real', send: (items) => void sent.push(...items.map(({ payload }) => payload)) }),
    ]
    await using inbox = await createTestInbox({ handlers, sinks: ['kept'] })
    const [trade, milestone] = [createEvent('wallet.large_trade'), createEvent('wallet.pnl_milestone')]
    await inbox.deliver(trade)
    await inbox.deliver(milestone)
    await inbox.idle()
    expect(inbox.items('kept').map(({ payload }) => payload)).toEqual([{ id: trade.id }])
    await inbox.advance(86_400_000)
    expect(inbox.items('kept').map(({ payload }) => payload)).toEqual([{ id: trade.id }, { id: milestone.id }])
    expect(sent).toEqual([false, true])
    expect(await inbox.state('h')).toEqual({ known: true })
    expect(() => inbox.items('real')).toThrow('real is not one of `sinks`')
  })

  test('ends while handlers hang, and reports every invalid definition', async () => {
    const never = defineHandler({ name: 'never', type: '*', run: () => new Promise(() => {}) })
    {
      await using inbox = await createTestInbox({ handlers: [never] })
      await inbox.deliver(createEvent('token.price_alert'))
      await inbox.advance(0)
    }
    await expect(createTestInbox({ handlers: [never, never], sinks: ['never'] })).rejects.toMatchObject({
      code: 'handler_invalid',
      message: expect.stringMatching(/^handlers\[1\]: .*\nhandlers\[2\]: /) as string,
    })
    await expect(createTestInbox({} as TestInboxOptions)).rejects.toMatchObject({
      code: 'handler_invalid',
      message: 'handlers: expected a list of results of defineHandler and defineSink',
    })
  })
})
