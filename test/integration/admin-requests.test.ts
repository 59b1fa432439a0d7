import { expect, test } from 'vitest'
import { InboxError } from '../../src/base/errors.ts'
import type { Reconcile } from '../../src/health/reconcile.ts'
import type { Inbox } from '../../src/inbox/port.ts'
import { arrivalOf, giveUp, quarantinedOf } from '../fixtures/stored-events.ts'
import { eventBytes } from '../support/signed.ts'
import { setUpAdmin } from './admin-app.ts'
import { startAdmin } from './admin-server.ts'

test.each([
  ['events?limit=0', 'limit: got "0", expected a whole number from 1 to 200'],
  ['events?limit=1&limit=2', 'limit: got ["1","2"], expected a whole number from 1 to 200'],
  ['events?q=%20', 'q: got " ", expected words that all stand in the body, of 1 to 255 characters'],
  ['dead-letters?handlr=x', 'handlr is no parameter here, expected handler, type, group, limit, cursor'],
  ['handlers?all=true', 'all is no parameter here, expected none'],
  ['activity?window=week', 'window: got "week", expected hour or day'],
  ['stream?kinds=events,none', 'kinds: got "events,none", expected some of events,overview,changed'],
  [
    'conflicts/a',
    'digest: got nothing, expected the digest of the other body, 64 hex digits in lower case, as the list gives it',
  ],
])('GET %s is rejected with what was given and what was expected', async (target, message) => {
  await using stage = await startAdmin()
  const { status, json } = await stage.call('GET', `/${target}`)
  expect([status, json]).toMatchObject([
    400,
    { error: { code: 'bad_request', message: expect.stringContaining(message) } },
  ])
})

test('a body is rejected with what was given and what was expected, and changes nothing', async () => {
  await using stage = await startAdmin()
  await giveUp(stage.inbox, ['a'])
  for (const [path, body, message] of [
    [
      'dead-letters/requeue',
      { filter: {} },
      'filter cannot be used: got an object without fields, expected {"run_ids"',
    ],
    [
      'dead-letters/requeue',
      { filter: { handlr: 'x' } },
      'filter cannot be used: got an object with handlr, expected {"run_ids"',
    ],
    ['dead-letters/drop', { all: true }, 'the body cannot be used: got an object with all, expected {"run_ids"'],
    [
      'dead-letters/requeue',
      { all: true, filter: { handler: 'x' } },
      'the body cannot be used: got an object with all, filter, ',
    ],
    ['quarantine/retry', [], 'the body cannot be used: got a list, expected {"ids"'],
    ['quarantine/drop', { all: true, reason: ' ' }, 'reason cannot be used: got a string, expected {"ids"'],
    ['reconcile', { from: '2026-01-31' }, 'to: got nothing, expected a time in ISO 8601'],
    ['reconcile', { from: 'now', to: '2026-01-31' }, 'from: got "now", expected a time in ISO 8601'],
  ] as const) {
    const { status, json } = await stage.call('POST', `/${path}`, body)
    expect([path, status, json]).toEqual([
      path,
      400,
      { error: { code: 'bad_request', message: expect.stringContaining(message) } },
    ])
  }
  expect((await stage.inbox.stats()).handlers[0]).toMatchObject({ dead: 1 })
})

const amount = 25

test('walks over all lists lose and repeat nothing while more comes', async () => {
  await using stage = await startAdmin()
  const { inbox } = stage
  const add = async (from: number, count: number) => {
    const ids = Array.from({ length: count }, (_, n) => `e${from + n}`)
    await giveUp(inbox, ids)
    await inbox.accept(ids.flatMap((id) => [arrivalOf(id, 'wallet.large_trade', '2'), quarantinedOf(Buffer.from(id))]))
    for (const id of ids) await inbox.startReplay({ filter: { ids: [id] }, perSecond: null, newKeys: false }, 'test')
  }
  await add(0, amount)
  const page = async (path: string) =>
    (await stage.call('GET', path)).json as { data: Record<string, unknown>[]; next_cursor: string | null }

  const walks = {
    events: 'id',
    'dead-letters': 'event_id',
    quarantine: 'id',
    conflicts: 'event_id',
    replays: 'id',
    audit: 'id',
  }
  let added = amount
  for (const [list, key] of Object.entries(walks)) {
    const before = (await page(`/${list}?limit=200`)).data.map((item) => item[key])
    expect(before.length, list).toBeGreaterThanOrEqual(amount)
    const seen: unknown[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const found = await page(`/${list}?limit=3${cursor && `&cursor=${encodeURIComponent(cursor)}`}`)
      seen.push(...found.data.map((item) => item[key]))
      cursor = found.next_cursor
      await add(added++, 1)
    }
    expect(seen, list).toEqual(before)
  }
})

test('more than a page of what a filter finds is acted on at once, and nothing else is', async () => {
  await using stage = await startAdmin()
  const { inbox } = stage
  const many = Array.from({ length: 450 }, (_, n) => `e${n}`)
  await giveUp(inbox, many, 'no pair 17 at 0xabcdef0123')
  await giveUp(inbox, ['other'], 'something else')
  const odd = { ...quarantinedOf(Buffer.from('odd')), reason: 'no_type' }
  await inbox.accept([...many.map((id) => quarantinedOf(Buffer.from(id))), odd])
  const filter = { group: 'TerminalError: no pair # at #' }
  const drop = { filter: { reason: 'not_json' }, reason: 'tests' }
  const complete = true
  for (const [path, body, expected] of [
    ['dead-letters/requeue', { filter, dryRun: true }, { requeued: 450, complete, dry_run: true }],
    ['dead-letters/requeue', { all: true, dryRun: true }, { requeued: 451, complete, dry_run: true }],
    ['dead-letters/requeue', { filter }, { requeued: 450, complete }],
    ['dead-letters/requeue', { filter }, { requeued: 0, complete }],
    ['quarantine/drop', { ...drop, dryRun: true }, { dropped: 450, dry_run: true }],
    ['quarantine/drop', drop, { dropped: 450 }],
    ['quarantine/drop', drop, { dropped: 0 }],
  ] as const)
    expect([path, (await stage.call('POST', `/${path}`, body)).json]).toEqual([path, expected])
  const { handlers, quarantined } = await inbox.stats()
  expect([handlers[0]?.dead, quarantined]).toEqual([1, 1])
})

test('where a filter finds more dead letters than are acted on at once, the answers say so', async () => {
  const { inbox } = await setUpAdmin()
  const [first = 0] = await giveUp(inbox, ['a', 'b'])
  const deadRunIds = async () => ({ runIds: [first], isComplete: false })
  await using stage = await startAdmin({ inbox: { ...inbox, deadRunIds } })
  const filter = { handler: 'trades' }
  const reason = 'a test'
  const complete = false
  for (const [path, body, expected] of [
    ['requeue', { filter, dryRun: true }, { requeued: 1, complete, dry_run: true }],
    ['drop', { filter, reason, dryRun: true }, { dropped: 1, complete, dry_run: true }],
    ['requeue', { filter }, { requeued: 1, complete }],
    ['drop', { filter, reason }, { dropped: 0, complete }],
    ['drop', { all: true, reason }, { dropped: 1, complete: true }],
  ] as const)
    expect([path, (await stage.call('POST', `/dead-letters/${path}`, body)).json]).toEqual([path, expected])
})

test('a retry of bodies of which one is not in quarantine is 404 and does nothing; to drop it again is no mistake', async () => {
  await using stage = await startAdmin()
  const { inbox } = stage
  const bodies = [quarantinedOf(eventBytes({ id: 'evt_1' })), quarantinedOf(Buffer.from('b'))]
  await inbox.accept(bodies)
  const [a = '', b = ''] = bodies.map(({ id }) => id)
  const ids = [a, 'sha256:00', b]
  const message = 'there is no body in quarantine with the id sha256:00: nothing was done'
  for (const more of [{}, { dryRun: true }]) {
    const { status, json } = await stage.call('POST', '/quarantine/retry', { ids, ...more })
    expect([status, json]).toEqual([404, { error: { code: 'not_found', message } }])
  }
  expect((await inbox.stats()).quarantined).toBe(2)
  expect(await inbox.event('evt_1')).toBeNull()
  expect((await inbox.audit({ limit: 9 })).data).toEqual([])
  const drop = { ids, reason: 'a test' }
  for (const [path, body, expected] of [
    ['retry', { ids: [a, b, a] }, { accepted: 1, still_unusable: 1 }],
    ['drop', { ...drop, dryRun: true }, { dropped: 1 }],
    ['drop', drop, { dropped: 1 }],
    ['drop', drop, { dropped: 0 }],
  ] as const)
    expect((await stage.call('POST', `/quarantine/${path}`, body)).json).toMatchObject(expected)
})

const span = { from: '2026-01-30', to: '2026-01-31' }

test('without access to the service a comparison with it is rejected, and what it needs is named', async () => {
  await using stage = await startAdmin()
  const { status, json } = await stage.call('POST', '/reconcile', span)
  const message = 'this needs access to the service: set INBOX_API_URL and INBOX_API_KEY'
  expect([status, json]).toEqual([409, { error: { code: 'api_not_configured', message } }])
  expect((await stage.call('GET', '/reconcile')).json).toEqual({ reconcile: null })
  expect((await stage.call('POST', '/reconcile/cancel')).json).toEqual({ reconcile: null })
})

test('a comparison with the service that cannot be noted, or may not begin, is neither begun nor noted', async () => {
  const noted: string[] = []
  let noting: () => Promise<void> = () => Promise.reject(new InboxError('store_full', 'the disk is full'))
  const note: Inbox['note'] = async (action) => {
    await noting()
    noted.push(action)
  }
  let started = 0
  let refusal: InboxError | null = new InboxError('already_running', 'one is running')
  await using stage = await startAdmin({
    inbox: { ...(await setUpAdmin()).inbox, note },
    more: {
      reconciler: {
        isConfigured: true,
        check() {
          if (refusal !== null) throw refusal
        },
        start: ({ from, to }) => {
          expect(noted).toHaveLength(++started)
          return {
            id: started,
            state: 'running',
            from,
            to,
            startedAt: to,
            notes: [],
            candidates: [],
          } as unknown as Reconcile
        },
        current: () => null,
        cancel: () => null,
      },
    },
  })
  const begin = async () => (await stage.call('POST', '/reconcile', span)).status
  expect(await begin()).toBe(409)
  refusal = null
  expect(await begin()).toBe(503)
  const [asked, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  noting = () => {
    asked.resolve()
    return gate.promise
  }
  const first = begin()
  await asked.promise
  expect([await begin(), noted, started]).toEqual([409, [], 0])
  gate.resolve()
  expect(await first).toBe(202)
  expect([noted, started]).toEqual([['reconcile.start'], 1])
  expect(await begin()).toBe(202)
})
