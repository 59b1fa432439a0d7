import { expect, test } from 'vitest'
import { counts } from '../counts.ts'
import { sqliteUrl, startTestApp } from '../support/app.ts'
import { jsonOf, RawConnection } from '../support/raw-http.ts'
import { delivery, eventBytes } from '../support/signed.ts'

/** Far above the sender's 5 s, because the clients share the CPU of the receiver. The bench measures the real time. */
const limitMs = 20_000

const statusOf = (answer: Parameters<typeof jsonOf>[0]) => (jsonOf(answer) as { readonly status: string }).status

test('P6 under 10x overload every request is answered or closed soon, and the receiver recovers', async () => {
  const clients = counts.overloadConnections
  const eventsEach = 5
  await using app = await startTestApp({
    settings: { INBOX_DATABASE_URL: sqliteUrl, INBOX_MAX_CONNECTIONS: String(clients / 10) },
  })
  let longestMs = 0
  const acknowledged: string[] = []
  const outcomes: string[] = []

  /** Sends events on one connection until it is closed, or answered 503. */
  async function runClient(client: number): Promise<void> {
    using connection = await RawConnection.open(app.port)
    for (let count = 0; count < eventsEach; count++) {
      const id = `evt_${client}_${count}`
      const startedAt = performance.now()
      const outcome = await connection.request(delivery(eventBytes({ id })), { isOnce: true }).then(
        ({ status }) => String(status),
        () => 'closed',
      )
      longestMs = Math.max(longestMs, performance.now() - startedAt)
      outcomes.push(outcome)
      if (outcome === '200') acknowledged.push(id)
      else return
    }
  }
  await Promise.all(Array.from({ length: clients }, (_, client) => runClient(client)))

  expect(longestMs).toBeLessThan(limitMs)
  expect(new Set(outcomes)).toContain('200')
  expect(new Set(outcomes)).toContain('closed')
  expect([...new Set(outcomes)].filter((outcome) => !['200', '503', 'closed'].includes(outcome))).toEqual([])
  for (const id of acknowledged) expect(await app.inbox.event(id)).not.toBeNull()

  using connection = await RawConnection.open(app.port)
  expect(statusOf(await connection.request(delivery(eventBytes({ id: 'evt_after' }))))).toBe('accepted')
})

/** Takes an hour, unless it is aborted. */
const slowHandler = `
import { setTimeout as delay } from 'node:timers/promises'
import { defineHandler } from 'onchain-inbox'
export default defineHandler({
  type: '*',
  order: 'none',
  timeoutMs: 3_600_000,
  run: (event, ctx) => delay(3_600_000, undefined, { signal: ctx.signal }),
})
`

test('R79 1,000 events are acknowledged while none of their handlers has finished', async () => {
  const events = 1_000
  const senders = 50
  await using app = await startTestApp({
    settings: { INBOX_DATABASE_URL: sqliteUrl, INBOX_SHUTDOWN_MS: '1000' },
    handlers: { 'slow.ts': slowHandler },
  })
  const statuses: number[] = []
  async function runSender(sender: number): Promise<void> {
    using connection = await RawConnection.open(app.port)
    for (let count = sender; count < events; count += senders) {
      const answer = await connection.request(delivery(eventBytes({ id: `evt_${count}` })))
      statuses.push(answer.status)
    }
  }
  await Promise.all(Array.from({ length: senders }, (_, sender) => runSender(sender)))

  expect(statuses).toEqual(Array.from({ length: events }, () => 200))
  const { lastSeq, handlers } = await app.inbox.stats()
  expect(lastSeq).toBe(events)
  const [slow] = handlers
  expect(slow!.ready + slow!.running).toBe(events)
})
