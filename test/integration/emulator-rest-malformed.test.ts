import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { headerOf, jsonOf, RawConnection, rawRequest, requestBytes, type RawAnswer } from '../support/raw-http.ts'
import { createRestStage, type RestStage } from './emulator-rest-stage.ts'

let stage: RestStage
let headers: Readonly<Record<string, string>>
beforeAll(async () => {
  stage = await createRestStage()
  headers = { Authorization: `Bearer ${stage.newKey()}` }
})
beforeEach(() => stage.wall.advance(60_000))
afterAll(() => stage[Symbol.asyncDispose]())

const json = { 'Content-Type': 'application/json' }
const hook = '{"url":"https://example.com/","events":["*"]}'

function expectEnvelope(answer: RawAnswer, status: number, code: string, message?: string): void {
  expect(answer.status).toBe(status)
  expect(headerOf(answer, 'content-type')).toBe('application/json')
  for (const name of ['limit', 'remaining', 'reset']) expect(headerOf(answer, `x-ratelimit-${name}`)).toMatch(/^\d+$/)
  expect(jsonOf(answer)).toMatchObject({
    success: false,
    error: { code, message: expect.stringContaining(message ?? ''), request_id: headerOf(answer, 'x-request-id') },
    meta: { latency_ms: expect.any(Number) },
  })
}

test('R50 a body is taken with any spelling of its type that means JSON in UTF-8', async () => {
  for (const type of ['application/json', 'Application/JSON; charset=UTF-8', 'application/json;charset="utf-8"']) {
    const parts = { target: '/v1/webhooks', headers: { ...headers, 'Content-Type': type }, body: Buffer.from(hook) }
    expect((await rawRequest(stage.port, parts)).status, type).toBe(201)
  }
})

test('R50 a request with two Content-Type headers is refused, and nothing is created', async () => {
  const before = stage.accounts.allWebhooks().length
  const type = ['application/json', 'application/json']
  const parts = { target: '/v1/webhooks', headers: { ...headers, 'Content-Type': type }, body: Buffer.from(hook) }
  expectEnvelope(await rawRequest(stage.port, parts), 415, 'unsupported_media_type')
  expect(stage.accounts.allWebhooks()).toHaveLength(before)
})

test('A3 a body without a length that grows too large is refused, and the connection goes on', async () => {
  using connection = await RawConnection.open(stage.port)
  const chunk = `4000\r\n${' '.repeat(0x4000)}\r\n`
  const head = { target: '/v1/webhooks', headers: { ...headers, ...json, 'Transfer-Encoding': 'chunked' } }
  connection.send(requestBytes({ ...head, body: Buffer.from(`${chunk.repeat(8)}0\r\n\r\n`) }))
  expectEnvelope(await connection.answer(), 413, 'payload_too_large')
  expect((await connection.request({ method: 'GET', target: '/v1/networks', headers })).status).toBe(200)
})

test('answers Expect: 100-continue, unless the request is rejected first', async () => {
  using connection = await RawConnection.open(stage.port)
  const expecting = { ...headers, ...json, Expect: '100-continue', 'Content-Length': String(hook.length) }
  connection.send(requestBytes({ target: '/v1/webhooks', headers: expecting }))
  expect((await connection.answer()).status).toBe(100)
  connection.send(hook)
  expect((await connection.answer()).status).toBe(201)
  connection.send(requestBytes({ target: '/v1/nothing', headers: expecting }))
  const refused = await connection.answer()
  expect([refused.status, headerOf(refused, 'connection')]).toEqual([404, 'close'])
})

test.each([
  ['no HTTP at all', 'hello\r\n\r\n', 400],
  ['a header without a colon', 'GET /v1/networks HTTP/1.1\r\nHost: a\r\nbroken\r\n\r\n', 400],
  ['a space in the target', 'GET /v1/net works HTTP/1.1\r\nHost: a\r\n\r\n', 400],
  ['no Host', 'GET /v1/networks HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
  ['broken chunks', 'POST /v1/alerts HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n', 400],
  ['two lengths', 'POST /v1/alerts HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n', 400],
  ['headers that are too large', `GET /v1/networks HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
])('R1 R117 what Node cannot read (%s) is answered in the envelope', async (_what, bytes, status) => {
  using connection = await RawConnection.open(stage.port)
  connection.send(bytes)
  expectEnvelope(await connection.answer(), status, 'invalid_request')
  expect(await connection.closed()).toBe('end')
})

test('a message about a wrong value shows what came without control characters, and never a secret', async () => {
  const { body } = await stage.request('/v1/alerts', { body: { type: `a\u001b[31m\u202e${'b'.repeat(200)}` } })
  expect(body.error.message).toContain('got "a')
  // oxlint-disable-next-line no-control-regex
  expect(body.error.message).not.toMatch(/[\u0000-\u001f\u202e]|b{100}/)
  const refused = await stage.request('/v1/webhooks', {
    body: { url: 'https://example.com/', events: ['*'], secret: 's3cret'.repeat(60) },
  })
  expect(refused.status).toBe(400)
  expect(JSON.stringify([refused.body, stage.exchanges.at(-1)])).not.toContain('s3cret')
})
