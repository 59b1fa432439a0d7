import fc from 'fast-check'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createPaces } from '../../src/dispatch/pace.ts'
import { createMeter } from '../../src/health/meter.ts'
import type { Reconcile } from '../../src/health/reconcile.ts'
import { createSqliteInbox } from '../../src/inbox/sqlite/inbox.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { createRejects } from '../../src/receiver/rejects.ts'
import { parseSecrets } from '../../src/signature/keys.ts'
import { counts } from '../counts.ts'
import { arrivalOf, createDeadLetters, quarantinedOf } from '../fixtures/stored-events.ts'
import { readAdminDocument, type AdminOperation } from '../support/admin-document.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { viewerToken } from './admin-app.ts'
import { startAdmin } from './admin-server.ts'

const start = Date.UTC(2026, 0, 31, 14, 0, 0)
const signatureHeader = 'x-service-signature'
const document = readAdminDocument()

/** A server with a database file that contains every kind of row. */
async function startFilled() {
  await using opened = new AsyncDisposableStack()
  const dir = opened.use(await createTempDir())
  const clock = createTestClock(start)
  const inbox = await createSqliteInbox({ file: join(dir.path, 'inbox.db') })
  const [dead = 0, other = 0] = await createDeadLetters(inbox, ['dead-1', 'dead-2', 'dead-3'])
  const bodies = ['{', '[1]', 'true', '"x"'].map((text) => quarantinedOf(Buffer.from(text)))
  const trace = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
  await inbox.accept([
    arrivalOf('a', 'token.price_alert', '18446744073709551615'),
    { ...arrivalOf('b'), headers: '{"user-agent":"sender/1"}', trace },
    arrivalOf('c', 'token.new_kind'),
    arrivalOf('a', 'token.price_alert', '2'),
    arrivalOf('b'),
    ...bodies,
  ])
  const meter = createMeter(clock)
  meter.acknowledged(12)
  const rejects = createRejects({
    clock,
    secrets: () => parseSecrets('main:a-secret-of-the-webhook'),
    paths: ['/webhooks'],
    signatureHeader,
    storedHeaders: [],
    trustedProxies: [],
  })
  const headers = { [signatureHeader]: 'ab'.repeat(32) }
  const refused = { method: 'POST', url: '/webhooks', headers, socket: { remoteAddress: '192.0.2.1' } }
  rejects.add(refused, 'signature_mismatch', Buffer.from('{}'))
  const paces = createPaces(clock)
  let reconcile: Reconcile | null = null
  const candidate = { network: 'base', wallet: '0xab', txHash: '0x01', tradedAt: '2026-01-31', summary: 'buy 1 ABC' }
  const counted = { wallets: 2, walletsDone: 1, trades: 3, requests: 1, candidates: [candidate], candidateCount: 1 }
  const begun = { id: 1, state: 'running', startedAt: start, endedAt: null, error: null, notes: ['a note'] } as const
  const stage = opened.use(
    await startAdmin({
      inbox,
      handlers: [
        {
          kind: 'handler',
          name: 'trades',
          types: ['*'],
          order: 'key',
          concurrency: 8,
          batch: 1,
          priority: 0,
          timeoutMs: 30_000,
          onDead: 'skip',
          latestOnly: false,
          from: 'now',
          isolate: false,
          retry: { attempts: 10, baseMs: 1_000, capMs: 600_000 },
          file: '/handlers/trades.ts',
        },
      ],
      more: {
        clock,
        now: () => clock.now(),
        meter,
        rejects,
        reconciler: {
          isConfigured: true,
          check: () => {},
          start: (span) => (reconcile = { ...begun, ...counted, ...span }),
          current: () => reconcile,
          cancel: () => (reconcile = reconcile && { ...reconcile, state: 'cancelled', endedAt: start + 1 }),
        },
        watch: {
          warnings: () => [
            { code: 'ack_slow', subject: '', level: 'critical', title: 'Slow', text: 'Look', since: start, href: '/x' },
          ],
          silences: () => [
            { type: 'a.b', network: null, lastAt: start, silentMs: 1.5, usualMs: 2, alarmAfterMs: 3, state: 'silent' },
          ],
          backlog: () => [{ at: start, openRuns: 1, deadLetters: 0 }],
        },
        paces: () => paces.current(),
        openBreakers: () =>
          new Map([['trades', { reason: 'breaker', since: start, until: start, failures: 3, error: 'no' }]]),
        settings: () => [{ name: 'INBOX_LOG_LEVEL', value: 'info', origin: 'default', secret: false, default: 'info' }],
        trySink: async () => [{ replica: 'a', result: 'sent', error: null }],
        secretLabels: () => ['main', 'next'],
        startedAt: start,
      },
    }),
  )
  const [conflict] = (await inbox.conflicts({ limit: 1 })).data
  const owned = opened.move()
  return {
    ...stage,
    clock,
    ids: { dead, other, bodies: bodies.map(({ id }) => id), reject: rejects.list().groups[0]?.id ?? '' },
    digest: conflict?.digest ?? '',
    group: (await inbox.deadGroups({})).groups[0]?.group ?? '',
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

type Step = readonly [
  id: string,
  given?: { readonly param?: string | number; readonly query?: string; readonly body?: object },
  /** Expected status, or members of the body of a success. */
  expected?: number | object,
]

test('every operation answers as documented, and is audited once with its caller', { timeout: 120_000 }, async () => {
  await using stage = await startFilled()
  const { ids, group, digest } = stage
  const filter = { handler: 'trades', group }
  const reason = 'a test'
  const replay = { type: 'wallet.large_trade', from: '2026-01-01', per_second: 5 }
  const span = { from: '2026-01-31T14:00:00Z', to: '2026-01-31T15:00:00Z' }
  const endpoint = { digest: '0'.repeat(64), url: 'https://example.com/hook', events: ['*'], secret_label: 'main' }
  const isDry = { dry_run: true }
  const complete = true
  const receipt = { headers: { 'user-agent': 'sender/1' }, traceparent: expect.any(String) }
  const steps: readonly Step[] = [
    ['getSession', {}, 401],
    ['signIn', { body: { token: viewerToken } }, 201],
    ['getSession'],
    ['signOut'],

    ['getEvent', { param: 'b' }, { receipt }],
    ['getEvent', { param: 'dead-1' }],
    ['getEvent', { param: 'nothing' }, 404],
    ['getEventBytes', { param: 'a' }],
    ['exportEvents', { query: '?format=csv&handler=trades' }],
    ['exportEvents', { query: '?format=xml' }, 400],
    ['listEvents'],
    [
      'listEvents',
      { query: '?type=wallet.large_trade&network=ethereum&address=0xabc&status=unhandled&q=dead&limit=2' },
    ],
    ['listEvents', { query: '?status=lost' }, 400],
    ['getOverview', {}, { now: new Date(start).toISOString() }],
    ['getActivity'],
    ['getActivity', { query: '?window=day' }],
    ...['getHealth', 'listDrift', 'listSecrets', 'listReplicas', 'getSettings', 'listHandlers'].map(
      (id) => [id] as const,
    ),

    ['groupDeadLetters', {}, { data: [{ group, count: 3 }], complete }],
    ['listDeadLetters', { query: `?handler=trades&group=${encodeURIComponent(group)}` }],
    ['getDeadLetter', { param: ids.dead }],
    ['getDeadLetter', { param: 'x' }, 404],
    ['requeueDeadLetters', { body: { filter, dryRun: true } }, { requeued: 3, complete, ...isDry }],
    ['requeueDeadLetters', { body: { run_ids: [ids.dead] } }, { requeued: 1, complete }],
    ['dropDeadLetters', { body: { run_ids: [ids.dead, ids.other], reason, dryRun: true } }, { dropped: 1, ...isDry }],
    ['dropDeadLetters', { body: { filter, reason } }, { dropped: 2, complete }],
    ['dropDeadLetters', { body: { filter, reason } }, { dropped: 0, complete }],

    ['listQuarantine', { query: '?reason=not_json' }],
    ['groupQuarantine'],
    ['getQuarantined', { param: ids.bodies[0] ?? '' }],
    ['retryQuarantine', { body: { all: true, dryRun: true } }, isDry],
    ['retryQuarantine', { body: { filter: { reason: 'not_json' } } }, { accepted: 0, still_unusable: 4 }],
    ['retryQuarantine', { body: { ids: ['sha256:00'] } }, 404],
    ['dropQuarantine', { body: { ids: ['sha256:00'], reason } }, { dropped: 0 }],
    ['dropQuarantine', { body: { ids: ids.bodies.slice(0, 1), reason } }, { dropped: 1 }],
    ['dropQuarantine', { body: { all: true, reason, dryRun: true } }, { dropped: 3 }],
    ['dropQuarantine', { body: { filter: { reason: 'not_json' }, reason } }, { dropped: 3 }],

    ['listConflicts', {}, { data: [{ event_id: 'a' }] }],
    ['getConflict', { param: 'a', query: `?digest=${digest}` }],
    ['getConflict', { param: 'a' }, 400],
    ['getConflict', { param: 'a', query: `?digest=${'0'.repeat(64)}` }, 404],
    ['listRejects'],
    ['explainReject', { param: ids.reject }, { code: 'wrong_secret' }],
    ['explainReject', { param: 'nothing' }, 404],

    ['pauseHandler', { param: 'trades' }],
    ['pauseHandler', { param: 'nobody' }, 404],
    ['resumeHandler', { param: 'trades' }],
    ['tryHandler', { param: 'trades' }, { results: [{ replica: 'a', result: 'sent', error: null }] }],
    ['pauseAll'],
    ['resumeAll'],
    ['changeHandler', { param: 'trades', body: { concurrency: 2 } }],
    ['dropHandlerRuns', { param: 'trades', body: { reason } }],

    ['startReplay', { body: { ids: ['a'], dryRun: true } }],
    ['startReplay', { body: replay }, { id: 1 }],
    ['startReplay', { body: {} }, 400],
    ['replayEvent', { param: 'a' }],
    ['listReplays', { query: '?limit=1' }],
    ['getReplay', { param: 1 }],
    ['cancelReplay', { param: 1 }, { cancelled: true }],

    ['getReconcile'],
    ['startReconcile', { body: span }, 202],
    ['startReconcile', { body: { from: '2026-01-31' } }, 400],
    ['getReconcile'],
    ['cancelReconcile'],
    ['cancelReconcile'],

    ['beginSubscription', { body: { ...endpoint, replaces: null } }],
    ['getSubscription'],
    ['endSubscription', { param: 1, body: { state: 'registered', answer: null } }],
    ['getSubscription'],
    ['acknowledgeGaps'],
    ['prune', { body: { older_than_days: 0 } }],
    ['getEvent', { param: 'dead-2' }],
    ['getEventBytes', { param: 'dead-2' }, 404],

    ['followStream', { query: '?kinds=events' }],
    ['followStream', { query: '?kinds=all' }, 400],
    ['getDocument', {}, document.text],
  ]
  const byId = new Map(document.operations.map((operation) => [operation.id, operation]))
  const called = new Set<string>(['listAudit'])
  let cookie = ''
  for (const [id, { param = '', query = '', body } = {}, expected = 200] of steps) {
    // Only older events are pruned.
    if (id === 'prune') await stage.clock.advance(1)
    const operation = byId.get(id) as AdminOperation
    const path = `${operation.path.replace(/\{\w+\}/, encodeURIComponent(param))}${query}`
    const { method } = operation
    const reply =
      operation.path === '/session'
        ? await stage.send(`/api/v1${path}`, { method, body, headers: { Cookie: cookie } })
        : await stage.call(method, path, body)
    cookie ||= reply.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
    const { status, json, headers, text } = reply
    expect([id, status, status < 300 ? '' : text]).toEqual([
      id,
      typeof expected === 'number' ? expected : 200,
      expect.any(String),
    ])
    if (typeof expected === 'object') expect(json, id).toMatchObject(expected)
    expect(document.problemsOf(operation, { status, type: headers['content-type'] ?? null, text })).toEqual([])
    if (status >= 300) continue
    if (body !== undefined) expect(document.isBody(operation, body), id).toBe(true)
    called.add(id)
  }
  expect(called).toEqual(new Set(byId.keys()))

  const { json, text } = await stage.call('GET', '/audit?limit=200')
  const answer = { status: 200, type: 'application/json', text }
  expect(document.problemsOf(byId.get('listAudit') as AdminOperation, answer)).toEqual([])
  // Dry runs and actions without effect are not audited.
  const actions = (json as { data: { action: string; by: string }[] }).data.filter(
    ({ action }) => !action.startsWith('session.'),
  )
  expect(actions.map(({ action }) => action).toReversed()).toEqual([
    'dead.requeue',
    'dead.drop',
    ...Array.from({ length: 4 }, () => 'quarantine.drop'),
    ...'handler.pause handler.resume handler.pause handler.resume handler.set handler.drop'.split(' '),
    ...'replay.start replay.start replay.cancel reconcile.start reconcile.cancel'.split(' '),
    ...'subscription.begin subscription.register prune'.split(' '),
  ])
  expect(new Set(actions.map(({ by }) => by))).toEqual(new Set(['operator (token) 127.0.0.1']))
  expect((await stage.inbox.stats()).quarantined).toBe(0)
})

const oddText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom('', ' ', '0', '-1', '1e3', '201', '9'.repeat(20), 'null', '[object Object]', '%00', '../..', 'é'),
  fc.constantFrom("' OR 1=1 --", '"', '*', 'a AND', 'NEAR(', '\u202e', '2026-13-01', '2026-01-31', '0000-01-01'),
  fc.constantFrom(
    '9999-12-31T23:59:59+14:00',
    'x'.repeat(256),
    'day',
    'dead',
    'b3Bhcg',
    'MQ',
    'sha256:00',
    '0'.repeat(64),
  ),
)
const members = 'run_ids all filter reason ids dryRun handler type group from to concurrency __proto__'.split(' ')
const oddValue = fc.oneof(oddText, fc.jsonValue(), fc.array(fc.oneof(oddText, fc.integer()), { maxLength: 3 }))
const oddBody = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.stringify(value)),
  fc.dictionary(fc.constantFrom(...members), oddValue, { maxKeys: 4 }).map((value) => JSON.stringify(value)),
  oddText,
)

function queryOf({ parameters }: AdminOperation) {
  const names = parameters.filter((one) => one['in'] === 'query').map((one) => String(one['name']))
  const name = fc.constantFrom(...names, ...names, 'limit', 'x', '__proto__')
  return fc
    .array(fc.tuple(name, oddText), { maxLength: 4 })
    .map((pairs) => (pairs.length === 0 ? '' : `?${new URLSearchParams(pairs).toString()}`))
}

/** Without sessions: failed sign-ins are limited. */
const request = fc.constantFrom(...document.operations.filter(({ path }) => path !== '/session')).chain((operation) =>
  fc.record({
    operation: fc.constant(operation),
    param: fc.oneof(oddText, fc.constantFrom('a', '1', 'trades')),
    query: queryOf(operation),
    body: operation.body === null ? fc.constant(undefined) : oddBody.map((text) => Buffer.from(text)),
  }),
)

test('arbitrary requests are answered as documented, and never with a 5xx', { timeout: 120_000 }, async () => {
  await using stage = await startFilled()
  const property = fc.asyncProperty(request, async ({ operation, param, query, body }) => {
    // Dots and empty segments would change the path.
    const part = encodeURIComponent(param.toWellFormed()).replace(/^\.{0,2}$/, '_')
    const reply = await stage.call(operation.method, `${operation.path.replace(/\{\w+\}/, part)}${query}`, body)
    const { status, text, headers } = reply
    expect(status, text).toBeLessThan(500)
    expect(document.problemsOf(operation, { status, type: headers['content-type'] ?? null, text })).toEqual([])
  })
  await fc.assert(property, { numRuns: counts.adminRequests })
})

test('viewers may call GET, operators everything; docs/admin-api.md names every operation', () => {
  const named = readFileSync('docs/admin-api.md', 'utf8').matchAll(/`((?:GET|POST|PATCH|DELETE) \/[a-z./:-]+)/g)
  const others = ['GET /metrics', 'GET /healthz', 'GET /readyz', 'GET /api/v']
  const documented = document.operations.map(({ id, method, path, role }) => {
    const isOpen = ['signIn', 'signOut', 'getDocument'].includes(id)
    expect(role, id).toBe(isOpen ? null : method === 'GET' ? 'viewer' : 'operator')
    return `${method} ${path.replace(/\{\w+\}/, ':id')}`
  })
  expect(new Set([...named].map(([, name = '']) => name).filter((name) => !others.includes(name)))).toEqual(
    new Set(documented),
  )
})
