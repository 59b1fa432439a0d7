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
  async function runClient(opened: RawConnection, client: number): Promise<void> {
    using connection = opened
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
  const connections = await Promise.all(Array.from({ length: clients }, () => RawConnection.open(app.port)))
  await Promise.all(connections.map(runClient))

  expect(longestMs).toBeLessThan(limitMs)
  expect(new Set(outcomes)).toContain('200')
  expect(new Set(outcomes)).toContain('closed')
  expect([...new Set(outcomes)].filter((outcome) => !['200', '503', 'closed'].includes(outcome))).toEqual([])
  for (const id of acknowledged) expect(await app.inbox.event(id)).not.toBeNull()

  using connection = await RawConnection.open(app.port)
  expect(statusOf(await connection.request(delivery(eventBytes({ id: 'evt_after' }))))).toBe('accepted')
})
