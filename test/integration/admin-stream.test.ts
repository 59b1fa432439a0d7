import { expect, test } from 'vitest'
import { pollLists, pollOverview, readListMarks } from '../../src/admin/stream.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import { arrivalOf, createDeadLetters, quarantinedOf } from '../fixtures/stored-events.ts'
import { openSse } from '../support/sse-reader.ts'
import { until } from '../support/until.ts'
import { adminToken, viewerToken } from './admin-app.ts'
import { sessionValue, startAdmin } from './admin-server.ts'

const stream = '/api/v1/stream'
const alive = ': alive\n\n'

const listen = (port: number, headers: Readonly<Record<string, string>>, query = '') =>
  openSse(`http://127.0.0.1:${port}${stream}${query}`, headers)
const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })
const message = (kind: string, data: unknown) => `event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`

test('new events are sent once a second, newest first, at most 50, with the number of skipped ones', async () => {
  await using stage = await startAdmin()
  await stage.inbox.accept([arrivalOf('before')])
  const reader = await listen(stage.port, bearer(viewerToken), '?kinds=events')
  expect(reader.response.status).toBe(200)
  await reader.until(alive)
  await stage.clock.advance(1_000)
  await stage.inbox.accept([arrivalOf('a'), arrivalOf('b')])
  await stage.clock.advance(999)
  expect(await reader.until(alive)).toBe(alive)
  await stage.clock.advance(1)
  await reader.until('"skipped":0}\n\n')
  await stage.inbox.accept(Array.from({ length: 60 }, (_, n) => arrivalOf(`c${n}`)))
  await stage.clock.advance(1_000)
  const text = await reader.until('"skipped":10}\n\n')
  const [first, second] = text
    .split('\n')
    .filter((line) => line.startsWith('data: '))
    .map((line) => JSON.parse(line.slice(6)) as { data: { id: string; seq: number }[]; skipped: number })
  expect(first?.data.map(({ id, seq }) => [id, seq])).toEqual([
    ['b', 3],
    ['a', 2],
  ])
  expect(second?.data.map(({ id }) => id)).toEqual(Array.from({ length: 50 }, (_, n) => `c${59 - n}`))
  await reader.leave()
})

test('the stream of an ended session is closed at the next heartbeat; that of a token stays', async () => {
  await using stage = await startAdmin()
  const [first, second] = [await stage.signIn(adminToken), await stage.signIn(viewerToken)]
  const lasting = stage.withCookie(sessionValue('viewer', stage.clock.now()))
  const nearlyOver = stage.withCookie(sessionValue('viewer', stage.clock.now() - 12 * 3_600_000 + 14_000))
  const readers = await Promise.all(
    [first, second, nearlyOver, lasting, bearer(viewerToken)].map((headers) =>
      listen(stage.port, headers, '?kinds=changed'),
    ),
  )
  for (const reader of readers) await reader.until(alive)
  await stage.send('/api/v1/session', { method: 'DELETE', headers: first })
  await stage.clock.advance(15_000)
  const [gone, stays, over, alsoStays, token] = readers
  // The audit records the sign-out.
  const withoutChanges = (text?: string) => text?.replaceAll(message('changed', { what: ['audit'] }), '')
  expect(withoutChanges(await gone?.rest())).toBe(alive)
  expect(withoutChanges(await over?.rest())).toBe(alive)
  for (const reader of [stays, alsoStays, token]) {
    expect(withoutChanges(await reader?.until(alive))).toMatch(/^(: alive\n\n)+$/)
    await reader?.leave()
  }
})

test('without streams nothing is polled and no timer runs', async () => {
  let asked = 0
  const inbox = await createMemoryInbox({ clock: createTestClock() })
  const events = inbox.events.bind(inbox)
  inbox.events = (query) => {
    asked++
    return events(query)
  }
  await using stage = await startAdmin({ inbox })
  expect(stage.clock.nextTimerAt()).toBeNull()
  const reader = await listen(stage.port, bearer(viewerToken), '?kinds=events')
  await reader.until(alive)
  expect([asked, stage.clock.nextTimerAt()]).toEqual([1, stage.clock.now() + 1_000])
  await stage.clock.advance(3_000)
  expect(asked).toBe(4)
  const other = await listen(stage.port, bearer(viewerToken), '?kinds=changed')
  await other.until(alive)
  await reader.leave()
  await until(async () => {
    const before = asked
    await stage.clock.advance(1_000)
    return asked === before
  }, 'events are no longer polled')
  expect(stage.clock.nextTimerAt()).not.toBeNull()
  await other.leave()
  await until(() => stage.clock.nextTimerAt() === null, 'no timer')
})

test('streams above the limit, and after the shutdown, are rejected', async () => {
  await using stage = await startAdmin()
  const open = () => stage.send(stream, { headers: bearer(viewerToken) })
  const readers = await Promise.all(Array.from({ length: 100 }, () => listen(stage.port, bearer(viewerToken))))
  const { status, json, headers } = await open()
  expect([status, json, headers['retry-after']]).toMatchObject([503, { error: { code: 'overloaded' } }, '5'])
  stage.admin.close()
  await Promise.all(readers.map((reader) => reader.rest()))
  expect((await open()).json).toMatchObject({ error: { code: 'shutting_down' } })
})

test('the overview is sent if more than its time changed', async () => {
  let overview = { now: 1, dead: 0 }
  const watch = pollOverview(async () => overview)
  expect(await watch()).toEqual({ now: 1, dead: 0 })
  overview = { now: 2, dead: 0 }
  expect(await watch()).toBeNull()
  overview = { now: 3, dead: 1 }
  expect(await watch()).toEqual({ now: 3, dead: 1 })
})

test('changed lists are named once per change', async () => {
  const inbox = await createMemoryInbox({ clock: createTestClock() })
  let rejects = 0
  let runs = 500
  const warnings: object[] = []
  // A large action updates its audit entry while it runs.
  const audit: typeof inbox.audit = async (query) => {
    const found = await inbox.audit(query)
    return { ...found, data: found.data.map((entry) => ({ ...entry, detail: { ...entry.detail, runs } })) }
  }
  const read = () =>
    readListMarks({
      inbox: { ...inbox, audit },
      rejects: { count: () => rejects },
      watch: { warnings: () => warnings },
    })
  const watch = pollLists(read)
  const what = async () => ((await watch()) as { what: string[] } | null)?.what
  expect(await what()).toBeUndefined()
  expect(await what()).toBeUndefined()
  const [runId = 0] = await createDeadLetters(inbox, ['a'])
  expect(await what()).toEqual(['handlers', 'dead-letters'])
  await inbox.accept([quarantinedOf(Buffer.from('{'))])
  expect(await what()).toEqual(['quarantine'])
  rejects = 1
  expect(await what()).toEqual(['rejects'])
  warnings.push({ code: 'ack_slow' })
  expect(await what()).toEqual(['health'])
  await inbox.dropDead([runId], 'a test')
  expect(await what()).toEqual(['handlers', 'dead-letters', 'audit'])
  await inbox.setPaused(null, true)
  expect(await what()).toEqual(['handlers', 'audit'])
  runs = 1_000
  expect(await what()).toEqual(['audit'])
  await inbox.startReplay({ filter: { ids: ['a'] }, perSecond: null, newKeys: false })
  expect(await what()).toContain('replays')
  // The replay still plans its runs.
  await until(async () => (await what()) === undefined, 'no more changes')
  await inbox.close()
})
