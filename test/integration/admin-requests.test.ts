import fc from 'fast-check'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createMemoryInbox } from '../../src/inbox/sqlite/local.ts'
import { createSqliteInbox } from '../../src/inbox/sqlite/inbox.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { InboxError } from '../../src/base/errors.ts'
import type { Reconcile, Reconciler } from '../../src/health/port.ts'
import type { Inbox } from '../../src/inbox/port.ts'
import { arrivalOf, giveUp, quarantinedOf } from '../fixtures/stored-events.ts'
import { readAdminDocument, type AdminOperation } from '../support/admin-document.ts'
import { eventBytes } from '../support/signed.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { counts } from '../counts.ts'
import { adminToken, setUpAdmin, type AppSetup } from './admin-app.ts'

const limitMs = 10_000

async function startOver(inbox: Inbox, more: AppSetup['more'] = {}) {
  const { app, admin } = await setUpAdmin({ inbox, more })
  app.listen(0, '127.0.0.1')
  await once(app, 'listening')
  const base = `http://127.0.0.1:${(app.address() as AddressInfo).port}/api/v1`
  return {
    async send(method: string, target: string, body?: string) {
      const response = await fetch(`${base}${target}`, {
        method,
        headers: {
          Authorization: `Bearer ${adminToken}`,
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
        },
        ...(body !== undefined && { body }),
        signal: AbortSignal.timeout(limitMs),
      })
      const type = response.headers.get('content-type')
      if (type !== 'text/event-stream') return { status: response.status, type, text: await response.text() }
      await response.body?.cancel()
      return { status: response.status, type, text: '' }
    },
    async [Symbol.asyncDispose]() {
      admin.close()
      app.close()
      app.closeAllConnections()
      await inbox.close()
    },
  }
}

const document = readAdminDocument()
/** Sessions are tested by themselves: wrong ones are slowed down. */
const fuzzed = document.operations.filter(({ path }) => path !== '/session')

const oddText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '',
    ' ',
    '0',
    '-1',
    '1e3',
    '201',
    '99999999999999999999',
    'null',
    '[object Object]',
    '%00',
    '../..',
    'é',
  ),
  fc.constantFrom(
    "' OR 1=1 --",
    '"',
    '*',
    'a AND',
    'NEAR(',
    '\u202e',
    '2026-13-01',
    '2026-01-31',
    '0000-01-01',
    '9999-12-31T23:59:59+14:00',
  ),
  fc.constantFrom('x'.repeat(256), 'day', 'dead', 'b3Bhcg', 'MQ', 'sha256:00', '0'.repeat(64)),
)

function queryOf({ parameters }: AdminOperation) {
  const names = parameters.filter((one) => one['in'] === 'query').map((one) => String(one['name']))
  const name = fc.oneof(
    ...(names.length === 0 ? [] : [fc.constantFrom(...names)]),
    fc.constantFrom('limit', 'x', '__proto__'),
  )
  return fc
    .array(fc.tuple(name, oddText), { maxLength: 4 })
    .map((pairs) => (pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`))
}

const names = [
  'run_ids',
  'all',
  'filter',
  'reason',
  'ids',
  'dryRun',
  'handler',
  'type',
  'group',
  'from',
  'to',
  'concurrency',
  '__proto__',
]
const oddJson = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.dictionary(
    fc.constantFrom(...names),
    fc.oneof(
      oddText,
      fc.boolean(),
      fc.integer(),
      fc.constant(null),
      fc.array(fc.oneof(oddText, fc.integer()), { maxLength: 3 }),
      fc.jsonValue(),
    ),
    { maxKeys: 4 },
  ),
)

test(
  'whatever is asked, the answer is as documented: never a failure inside, never none',
  { timeout: 120_000 },
  async () => {
    await using dir = await createTempDir()
    const inbox = await createSqliteInbox({ file: join(dir.path, 'inbox.db') })
    await giveUp(inbox, ['a', 'b', 'c'])
    await inbox.accept([arrivalOf('a', 'wallet.large_trade', '2'), quarantinedOf(Buffer.from('{'))])
    await using stage = await startOver(inbox)

    const request = fc.constantFrom(...fuzzed).chain((operation) =>
      fc.record({
        operation: fc.constant(operation),
        param: fc.oneof(oddText, fc.constantFrom('a', '1', 'trades')),
        query: fc.oneof(fc.constant(''), queryOf(operation)),
        body:
          operation.body === null
            ? fc.constant(undefined)
            : fc.oneof(
                oddJson.map((value) => JSON.stringify(value)),
                oddText,
              ),
      }),
    )
    const property = fc.asyncProperty(request, async ({ operation, param, query, body }) => {
      // A URL takes dots for something else, and without anything there it is another path.
      const part = encodeURIComponent(param.toWellFormed()).replace(/^\.{0,2}$/, '_')
      const answer = await stage.send(operation.method, `${operation.path.replace(/\{\w+\}/, part)}${query}`, body)
      expect(answer.status, answer.text).toBeLessThan(500)
      expect(document.problemsOf(operation, answer), answer.text).toEqual([])
    })
    await fc.assert(property, { numRuns: counts.adminRequests })
  },
)

test.each([
  ['events?limit=0', 'limit: got "0", expected a whole number from 1 to 200'],
  ['events?limit=1&limit=2', 'limit: got ["1","2"], expected a whole number from 1 to 200'],
  ['events?q=%20', 'q: got " ", expected words that all stand in the body, of 1 to 255 characters'],
  ['dead-letters?handlr=x', 'handlr is no parameter here, expected handler, type, group, limit, cursor'],
  ['handlers?all=true', 'all is no parameter here, expected none'],
  ['activity?window=week', 'window: got "week", expected hour or day'],
  [
    'conflicts/a',
    'digest: got nothing, expected the digest of the other body, 64 hex digits in lower case, as the list gives it',
  ],
])('GET %s is refused with what came and what was expected', async (target, message) => {
  await using stage = await startOver(await createMemoryInbox({ clock: createTestClock() }))
  const { status, text } = await stage.send('GET', `/${target}`)
  expect([status, JSON.parse(text)]).toEqual([400, { error: { code: 'bad_request', message } }])
})

test.each([
  ['dead-letters/requeue', { filter: {} }, 'filter cannot be used: got an object without fields, expected {"run_ids"'],
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
])(
  'POST %s with %j is refused with what came and what was expected, and changes nothing',
  async (target, body, message) => {
    const inbox = await createMemoryInbox({ clock: createTestClock() })
    await giveUp(inbox, ['a'])
    await using stage = await startOver(inbox)
    const { status, text } = await stage.send('POST', `/${target}`, JSON.stringify(body))
    const { error } = JSON.parse(text) as { error: { code: string; message: string } }
    expect([status, error.code, error.message]).toEqual([400, 'bad_request', expect.stringContaining(message)])
    expect((await inbox.stats()).handlers[0]).toMatchObject({ dead: 1 })
  },
)

test('without access to the service a comparison with it is refused, and what it needs is named', async () => {
  await using stage = await startOver(await createMemoryInbox({ clock: createTestClock() }))
  const { status, text } = await stage.send('POST', '/reconcile', '{"from":"2026-01-30","to":"2026-01-31"}')
  const message = 'this needs access to the service: set INBOX_API_URL and INBOX_API_KEY'
  expect([status, JSON.parse(text)]).toEqual([409, { error: { code: 'api_not_configured', message } }])
  expect(JSON.parse((await stage.send('GET', '/reconcile')).text)).toEqual({ reconcile: null })
  expect(JSON.parse((await stage.send('POST', '/reconcile/cancel')).text)).toEqual({ reconcile: null })
})

const amount = 25

test('walks over all lists lose and repeat nothing while more comes', async () => {
  const inbox = await createMemoryInbox({ clock: createTestClock() })
  const add = async (from: number, count: number) => {
    const ids = Array.from({ length: count }, (_, n) => `e${from + n}`)
    await giveUp(inbox, ids)
    await inbox.accept(ids.flatMap((id) => [arrivalOf(id, 'wallet.large_trade', '2'), quarantinedOf(Buffer.from(id))]))
    for (const id of ids) await inbox.startReplay({ filter: { ids: [id] }, perSecond: null, newKeys: false }, 'test')
  }
  await add(0, amount)
  await using stage = await startOver(inbox)

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
    const all = JSON.parse((await stage.send('GET', `/${list}?limit=200`)).text) as {
      data: Record<string, unknown>[]
    }
    const before = all.data.map((item) => item[key])
    expect(before.length, list).toBeGreaterThanOrEqual(amount)
    const seen: unknown[] = []
    for (let cursor: string | null = ''; cursor !== null;) {
      const query: string = cursor === '' ? 'limit=3' : `limit=3&cursor=${encodeURIComponent(cursor)}`
      const page = JSON.parse((await stage.send('GET', `/${list}?${query}`)).text) as typeof all & {
        next_cursor: string | null
      }
      expect(page, list).toHaveProperty('data')
      seen.push(...page.data.map((item) => item[key]))
      cursor = page.next_cursor
      await add(added++, 1)
    }
    expect(seen, list).toEqual(before)
  }
})

test('more than a page of what a filter finds is acted on at once, and nothing else is', async () => {
  const inbox = await createMemoryInbox({ clock: createTestClock() })
  const many = Array.from({ length: 450 }, (_, n) => `e${n}`)
  await giveUp(inbox, many, 'no pair 17 at 0xabcdef0123')
  await giveUp(inbox, ['other'], 'something else')
  const odd = { ...quarantinedOf(Buffer.from('odd')), reason: 'no_type' }
  await inbox.accept([...many.map((id) => quarantinedOf(Buffer.from(id))), odd])
  await using stage = await startOver(inbox)
  const post = async (path: string, body: object) =>
    JSON.parse((await stage.send('POST', path, JSON.stringify(body))).text)

  const filter = { group: 'TerminalError: no pair # at #' }
  const requeue = (body: object) => post('/dead-letters/requeue', body)
  expect(await requeue({ filter, dryRun: true })).toEqual({ requeued: 450, complete: true, dry_run: true })
  expect(await requeue({ all: true, dryRun: true })).toEqual({ requeued: 451, complete: true, dry_run: true })
  expect(await requeue({ filter })).toEqual({ requeued: 450, complete: true })
  expect(await requeue({ filter })).toEqual({ requeued: 0, complete: true })
  const reason = 'not_json'
  const drop = { filter: { reason }, reason: 'tests' }
  expect(await post('/quarantine/drop', { ...drop, dryRun: true })).toEqual({ dropped: 450, dry_run: true })
  expect(await post('/quarantine/drop', drop)).toEqual({ dropped: 450 })
  expect(await post('/quarantine/drop', drop)).toEqual({ dropped: 0 })
  const { handlers, quarantined } = await inbox.stats()
  expect([handlers[0]?.dead, quarantined]).toEqual([1, 1])
})

test('where a filter finds more dead letters than are acted on at once, the answers say so', async () => {
  const inbox = await createMemoryInbox({ clock: createTestClock() })
  const [first = 0] = await giveUp(inbox, ['a', 'b'])
  await using stage = await startOver({ ...inbox, deadRunIds: async () => ({ runIds: [first], isComplete: false }) })
  const post = async (path: string, body: object) =>
    JSON.parse((await stage.send('POST', path, JSON.stringify(body))).text)
  const filter = { handler: 'trades' }
  const reason = 'a test'
  const more = { complete: false }
  expect(await post('/dead-letters/requeue', { filter, dryRun: true })).toEqual({ requeued: 1, ...more, dry_run: true })
  expect(await post('/dead-letters/drop', { filter, reason, dryRun: true })).toEqual({
    dropped: 1,
    ...more,
    dry_run: true,
  })
  expect(await post('/dead-letters/requeue', { filter })).toEqual({ requeued: 1, ...more })
  expect(await post('/dead-letters/drop', { filter, reason })).toEqual({ dropped: 0, ...more })
  expect(await post('/dead-letters/drop', { all: true, reason })).toEqual({ dropped: 1, complete: true })
})

test('of bodies that are to be tried again one that is not in quarantine is 404, and nothing is done; to drop it again is no mistake', async () => {
  const inbox = await createMemoryInbox({ clock: createTestClock() })
  const known = eventBytes({ id: 'evt_1' })
  const bodies = [quarantinedOf(known), quarantinedOf(Buffer.from('b'))]
  await inbox.accept(bodies)
  await using stage = await startOver(inbox)
  const [a = '', b = ''] = bodies.map(({ id }) => id)
  const post = (path: string, body: object) => stage.send('POST', path, JSON.stringify(body))
  const ids = [a, 'sha256:00', b]
  const message = 'there is no body in quarantine with the id sha256:00: nothing was done'
  for (const [path, more] of [
    ['/quarantine/retry', {}],
    ['/quarantine/retry', { dryRun: true }],
  ] as const) {
    const { status, text } = await post(path, { ids, ...more })
    expect([path, status, JSON.parse(text)]).toEqual([path, 404, { error: { code: 'not_found', message } }])
  }
  expect((await inbox.stats()).quarantined).toBe(2)
  expect(await inbox.event('evt_1')).toBeNull()
  expect((await inbox.audit({ limit: 9 })).data).toEqual([])
  expect(JSON.parse((await post('/quarantine/retry', { ids: [a, b, a] })).text)).toMatchObject({
    accepted: 1,
    still_unusable: 1,
  })
  const drop = { ids, reason: 'a test' }
  expect(JSON.parse((await post('/quarantine/drop', { ...drop, dryRun: true })).text)).toMatchObject({ dropped: 1 })
  expect(JSON.parse((await post('/quarantine/drop', drop)).text)).toEqual({ dropped: 1 })
  expect(JSON.parse((await post('/quarantine/drop', drop)).text)).toEqual({ dropped: 0 })
})

test('a comparison with the service that cannot be noted, or may not begin, is neither begun nor noted', async () => {
  const inbox = await createMemoryInbox({ clock: createTestClock() })
  const noted: string[] = []
  let isFull = true
  let isNoting = () => {}
  let mayNote: Promise<void> = Promise.resolve()
  const started: object[] = []
  let refusal: InboxError | null = null
  const note: Inbox['note'] = async (action) => {
    if (isFull) throw new InboxError('store_full', 'the disk is full')
    isNoting()
    await mayNote
    noted.push(action)
  }
  const reconciler: Reconciler = {
    isConfigured: true,
    check() {
      if (refusal !== null) throw refusal
    },
    start({ from, to }) {
      expect(noted).toHaveLength(started.length + 1)
      const begun = { ...reconcileOf(from, to), id: started.length + 1 }
      started.push(begun)
      return begun
    },
    current: () => null,
    cancel: () => null,
    close: async () => {},
  }
  await using stage = await startOver({ ...inbox, note }, { reconciler })
  const begin = async () => (await stage.send('POST', '/reconcile', '{"from":"2026-01-30","to":"2026-01-31"}')).status
  expect([await begin(), started.length]).toEqual([503, 0])
  isFull = false
  refusal = new InboxError('already_running', 'one is running')
  expect([await begin(), noted, started.length]).toEqual([409, [], 0])
  refusal = null
  const noting = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  isNoting = noting.resolve
  mayNote = gate.promise
  const first = begin()
  await noting.promise
  expect(await begin()).toBe(409)
  gate.resolve()
  expect(await first).toBe(202)
  expect([noted, started.length]).toEqual([['reconcile.start'], 1])
  expect(await begin()).toBe(202)
})

const reconcileOf = (from: number, to: number): Reconcile => ({
  id: 1,
  state: 'running',
  from,
  to,
  startedAt: to,
  endedAt: null,
  wallets: 0,
  walletsDone: 0,
  trades: 0,
  requests: 0,
  error: null,
  notes: [],
  candidates: [],
  candidateCount: 0,
})
