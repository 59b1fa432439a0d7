import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestClock } from '../../src/base/clock.ts'
import { startTestApp, type TestApp } from '../support/app.ts'
import { type PostgresInboxes, startPostgresInboxes } from '../support/postgres-inboxes.ts'
import { rawRequest } from '../support/raw-http.ts'
import { delivery, eventBytes } from '../support/signed.ts'
import { until } from '../support/until.ts'

const lookMs = 10_000
const token = 'the-token-of-the-replicas'

let server: PostgresInboxes
beforeAll(async () => {
  server = await startPostgresInboxes()
})
afterAll(() => server[Symbol.asyncDispose]())

/** The bodies of the events of a type that a replica lists. */
async function told(app: TestApp, type: string): Promise<Record<string, unknown>[]> {
  const ask = async (path: string) => {
    const answer = await fetch(`${app.adminUrl}/api/v1/${path}`, { headers: { Authorization: `Bearer ${token}` } })
    return (await answer.json()) as { data: { id: string; envelope: { data: Record<string, unknown> } }[] }
  }
  const { data } = await ask(`events?type=${type}`)
  return Promise.all(
    data.map(async ({ id }) => {
      const shown = (await ask(`events/${encodeURIComponent(id)}`)) as unknown as (typeof data)[number]
      return shown.envelope.data
    }),
  )
}

test('a warning about a replica that is gone is over once the leader has missed it twice; one about the leader is not', async () => {
  const url = await server.createDatabase()
  const settings = { INBOX_DATABASE_URL: url, INBOX_ADMIN_TOKEN: token }
  const [ofLeader, ofOther] = [createTestClock(Date.now()), createTestClock(Date.now())]
  await using leader = await startTestApp({ settings, clock: ofLeader })
  await using other = await startTestApp({ settings, clock: ofOther })
  const forged = delivery(eventBytes({ id: 'evt_1' }), { secret: 'another-secret-than-theirs' })
  for (const app of [leader, other])
    for (let i = 0; i < 20; i++) expect(await rawRequest(app.port, forged)).toMatchObject({ status: 401 })

  for (const [clock, count] of [
    [ofOther, 1],
    [ofLeader, 2],
  ] as const)
    await until(async () => {
      await clock.advance(lookMs)
      return (await told(leader, 'inbox.warning')).length === count
    }, `${count} warnings are told`)
  const [ofLeaderTold, ofOtherTold] = await told(leader, 'inbox.warning')
  expect(ofLeaderTold).toMatchObject({ code: 'rejects_burst', replica: expect.any(String) })
  expect(ofOtherTold).toMatchObject({ code: 'rejects_burst', replica: expect.any(String) })
  expect(ofOtherTold?.['replica']).not.toBe(ofLeaderTold?.['replica'])

  await other.stop()
  const goneAt = ofLeader.now()
  await until(async () => {
    await ofLeader.advance(60_000)
    return (await told(leader, 'inbox.resolved')).length > 0
  }, 'a warning is over')
  expect(await told(leader, 'inbox.resolved')).toEqual([ofOtherTold])
  expect(ofLeader.now() - goneAt).toBeGreaterThan(600_000)
})
