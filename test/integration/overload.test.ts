import { expect, test } from 'vitest'
import { counts } from '../counts.ts'
import { sqliteUrl, startTestApp } from '../support/app.ts'
import { jsonOf, RawConnection } from '../support/raw-http.ts'
import { delivery, eventBytes } from '../support/signed.ts'

/** Time limit of the sender. */
const senderTimeoutMs = 5_000

const statusOf = (answer: Parameters<typeof jsonOf>[0]) => (jsonOf(answer) as { readonly status: string }).status

test('P6 under 10x overload every request is answered or closed within 5 s, and the receiver recovers', async () => {
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
      const outcome = await connection.request(delivery(eventBytes({ id }))).then(
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

  expect(longestMs).toBeLessThan(senderTimeoutMs)
  expect(new Set(outcomes)).toContain('200')
  expect(new Set(outcomes)).toContain('closed')
  expect([...new Set(outcomes)].filter((outcome) => !['200', '503', 'closed'].includes(outcome))).toEqual([])
  for (const id of acknowledged) expect(await app.inbox.event(id)).not.toBeNull()

  using connection = await RawConnection.open(app.port)
  expect(statusOf(await connection.request(delivery(eventBytes({ id: 'evt_after' }))))).toBe('accepted')
})

/** Takes 30 s, unless it is aborted. */
const slowHandler = `
import { setTimeout as delay } from 'node:timers/promises'
import { defineHandler } from 'onchain-inbox'
export default defineHandler({
  type: '*',
  order: 'none',
  timeoutMs: 60_000,
  run: (event, ctx) => delay(30_000, undefined, { signal: ctx.signal }),
})
`

test('R79 1,000 events for a handler that takes 30 s are each acknowledged within 5 s', async () => {
  const events = 1_000
  const senders = 50
  await using app = await startTestApp({
    settings: { INBOX_DATABASE_URL: sqliteUrl, INBOX_SHUTDOWN_MS: '1000' },
    handlers: { 'slow.ts': slowHandler },
  })
  let longestMs = 0
  const statuses: number[] = []
  async function runSender(sender: number): Promise<void> {
    using connection = await RawConnection.open(app.port)
    for (let count = sender; count < events; count += senders) {
      const startedAt = performance.now()
      const answer = await connection.request(delivery(eventBytes({ id: `evt_${count}` })))
      longestMs = Math.max(longestMs, performance.now() - startedAt)
      statuses.push(answer.status)
    }
  }
  await Promise.all(Array.from({ length: senders }, (_, sender) => runSender(sender)))

  expect(statuses).toEqual(Array.from({ length: events }, () => 200))
  expect(longestMs).toBeLessThan(senderTimeoutMs)
  const { lastSeq, handlers } = await app.inbox.stats()
  expect(lastSeq).toBe(events)
  const [slow] = handlers
  expect(slow!.ready + slow!.running).toBe(events)
})
