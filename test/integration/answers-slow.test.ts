import { expect, test } from 'vitest'
import { startTestApp } from '../support/app.ts'
import { headerOf, RawConnection, requestBytes } from '../support/raw-http.ts'
import { delivery, eventBytes } from '../support/signed.ts'

/** Tolerance for timers that fire early. */
const earlyMs = 50

const slow = [
  { name: 'nothing at all', sent: '', limitMs: 5_000 },
  { name: 'half of its headers', sent: 'POST /webhooks HTTP/1.1\r\nHost: a\r\nX-Serv', limitMs: 5_000 },
  { name: 'no body after its headers', sent: requestBytes({ headers: { 'Content-Length': '100' } }), limitMs: 10_000 },
  {
    name: 'half of its body',
    sent: requestBytes(delivery(eventBytes({ id: 'evt_slow' }))).subarray(0, -10),
    limitMs: 10_000,
  },
  {
    name: 'one chunk of its body',
    sent: `${requestBytes({ headers: { 'Transfer-Encoding': 'chunked' } }).toString('latin1')}1\r\n{\r\n`,
    limitMs: 10_000,
  },
]

/** Waits until the connection is closed. Tries again while a busy machine sheds load. */
async function answerTo(port: number, sent: Buffer | string) {
  for (;;) {
    using connection = await RawConnection.open(port)
    const startedAt = performance.now()
    connection.send(sent)
    const answer = await connection.answer()
    if (answer.status === 503) continue
    const afterMs = performance.now() - startedAt
    await connection.closed()
    return { answer, afterMs }
  }
}

test('P6 a slow client gets 408 after 5 s for its headers or 10 s for its body, and is closed', async () => {
  await using app = await startTestApp()
  const results = await Promise.all(
    slow.map(async ({ name, sent, limitMs }) => {
      const { answer, afterMs } = await answerTo(app.port, sent)
      return [name, answer.status, headerOf(answer, 'connection'), afterMs > limitMs - earlyMs]
    }),
  )
  expect(results).toEqual(slow.map(({ name }) => [name, 408, 'close', true]))
  expect((await app.inbox.stats()).lastSeq).toBe(0)

  using after = await RawConnection.open(app.port)
  expect((await after.request(delivery(eventBytes({ id: 'evt_1' })))).status).toBe(200)
}, 60_000)
