import { describe, expect, test } from 'vitest'
import { toMessage } from '../../handlers/sinks/common/message.ts'
import type { AnyEvent } from '../../schema/index.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { formatEvent } from '../../src/dispatch/format.ts'
import { toInternalEvent, type Transition } from '../../src/health/notifier.ts'
import type { Warning } from '../../src/health/facts.ts'
import { partsOfKey } from '../../src/inbox/replays.ts'
import { sqliteUrl, startTestApp } from '../support/app.ts'
import { items, stageService, type FakeChat } from '../support/fake-chat.ts'
import { until } from '../support/until.ts'

const notifiedAt = Date.UTC(2026, 0, 1, 12)
const warning: Warning = {
  code: 'dead_letters',
  subject: 'trades',
  level: 'warning',
  title: '3 dead letters of trades',
  text: 'These runs failed for good.\nRequeue them.',
  since: notifiedAt - 1_000,
  href: '/dead-letters',
}
const internalEvent = (transition: Transition, change: Partial<Warning> = {}, consoleUrl: string | null = null) =>
  toInternalEvent({ warning: { ...warning, ...change }, notifiedAt, replica: null }, transition, {
    at: notifiedAt,
    consoleUrl,
  })
const eventOf = (
  transition: Transition,
  change: Partial<Warning> = {},
  consoleUrl: string | null = 'https://inbox.example.com',
) => JSON.parse(Buffer.from(internalEvent(transition, change, consoleUrl).raw).toString()) as AnyEvent
const incident = eventOf('begun').id

describe('a warning as a message', () => {
  test('has title, advice, begin and link', () => {
    expect(toMessage(eventOf('begun'))).toMatchObject({
      title: '3 dead letters of trades',
      text: 'These runs failed for good.\nRequeue them.',
      severity: 'warning',
      facts: [
        ['about', 'trades'],
        ['since', '2026-01-01T11:59:59.000Z'],
      ],
      links: [{ label: 'console', url: 'https://inbox.example.com/#/dead-letters' }],
    })
    expect(toMessage(eventOf('resolved'))).toMatchObject({ title: 'Over: 3 dead letters of trades', severity: 'info' })
    expect(toMessage(eventOf('begun', {}, null)).links).toEqual([])
  })

  test('has the same key for begin and end, without network and address', () => {
    const { key } = internalEvent('begun')
    expect(partsOfKey(key)).toEqual({ network: null, address: null })
    expect(internalEvent('resolved').key).toBe(key)
  })

  test('with invalid fields is safe to show, and links only to the web', () => {
    const odd = {
      id: 'x',
      type: 'inbox.warning',
      created_at: 'now',
      data: { url: 'javascript:alert(1)', title: 7, text: '\u202e\n' },
    }
    const message = toMessage(odd as unknown as AnyEvent)
    expect(message.links).toEqual([])
    expect(JSON.stringify(message)).not.toContain('\u202e')
    expect(formatEvent(odd as unknown as AnyEvent)).toContain('inbox.warning')
    const ofReplica = { id: 'x', type: 'inbox.warning', data: { title: 'slow', replica: 'host-1' } }
    expect(formatEvent(ofReplica as unknown as AnyEvent)).toContain('slow · replica host-1')
    expect(formatEvent({ id: 'x', type: 'inbox.resolved' } as unknown as AnyEvent)).toContain('Over: ?')
  })
})

const pagers = [
  {
    kind: 'pagerduty' as const,
    callsOf: ({ accepted }: FakeChat) =>
      accepted.map(({ body }) => [
        body.event_action,
        body.dedup_key,
        (body.payload as { severity?: string } | undefined)?.severity,
      ]),
    expected: [
      ['trigger', incident, 'warning'],
      ['trigger', incident, 'critical'],
      ['resolve', incident, undefined],
    ],
  },
  {
    kind: 'opsgenie' as const,
    callsOf: ({ server, accepted }: FakeChat) =>
      accepted.map(({ body }, index) => [server.requests[index]?.path, body.alias, body.priority]),
    expected: [
      ['/v2/alerts', incident, 'P3'],
      ['/v2/alerts', incident, 'P1'],
      [`/v2/alerts/${encodeURIComponent(incident)}/close?identifierType=alias`, undefined, undefined],
    ],
  },
]

const course = [
  eventOf('begun'),
  eventOf('critical', { level: 'critical' }),
  eventOf('resolved', { level: 'critical' }),
]

test.each(pagers)(
  'a warning opens one incident at $kind and closes it; below minSeverity it opens and closes nothing',
  async ({ kind, callsOf, expected }) => {
    await using all = await stageService(kind)
    for (const event of course) expect(await all.send(items(event))).toBeUndefined()
    expect(all.fake.rejected).toEqual([])
    expect(callsOf(all.fake)).toEqual(expected)
    await using critical = await stageService(kind, { minSeverity: 'critical' })
    for (const event of [eventOf('begun'), eventOf('resolved')]) await critical.send(items(event))
    expect(critical.fake.accepted).toEqual([])
    for (const event of course) await critical.send(items(event))
    expect(callsOf(critical.fake)).toEqual(expected.slice(1))
  },
)

test('a warning of a running inbox goes only to the sinks in INBOX_NOTIFY', async () => {
  const clock = createTestClock(Date.now())
  await using app = await startTestApp({
    clock,
    settings: {
      INBOX_SINKS: JSON.stringify({
        desk: { kind: 'file', path: './desk.ndjson' },
        archive: { kind: 'file', path: './archive.ndjson', types: '*' },
      }),
      INBOX_NOTIFY: 'desk',
      INBOX_CONSOLE_URL: 'https://inbox.example.com/',
      INBOX_DATABASE_URL: sqliteUrl,
    },
  })
  await app.inbox.setPaused('archive', true)
  const metrics = async () => {
    const headers = { Authorization: `Bearer ${app.adminToken}` }
    return (await fetch(`${app.adminUrl}/metrics`, { headers })).text()
  }
  // A pause of more than an hour is a warning.
  await until(async () => {
    await clock.advance(10 * 60_000)
    return (await app.inbox.events({ type: 'inbox.warning', limit: 1 })).data.length > 0
  }, 'the warning is stored')
  const [event] = (await app.inbox.events({ type: 'inbox.warning', limit: 1 })).data
  await until(async () => (await app.inbox.event(event!.id))?.status === 'done', 'the sink has it')
  const detail = await app.inbox.event(event!.id)
  expect(detail!.runs.map(({ handler, state }) => [handler, state])).toEqual([['desk', 'done']])
  expect(JSON.parse(Buffer.from(detail!.raw).toString())).toMatchObject({
    data: { code: 'paused', subject: 'archive', url: 'https://inbox.example.com/#/handlers' },
  })
  expect(await metrics()).toContain('inbox_warning_active{code="paused",level="warning"} 1')
})
