import fc from 'fast-check'
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { counts } from '../counts.ts'
import { arrivalOf } from '../fixtures/stored-events.ts'
import { readAdminDocument, type AdminOperation } from '../support/admin-document.ts'
import { idOf, startFilledAdmin } from '../support/filled-admin.ts'
import { viewerToken } from './admin-app.ts'

const document = readAdminDocument()

type Step = readonly [
  id: string,
  given?: { readonly param?: string | number; readonly query?: string; readonly body?: object },
  /** Expected status, or members of the body of a success. */
  expected?: number | object,
]

test('every operation answers as documented, and is audited once with its caller', { timeout: 120_000 }, async () => {
  await using stage = await startFilledAdmin()
  const { rejectId, unusableId, quarantinedIds, digest, clock } = stage
  // No handler takes it, so it can be pruned.
  await stage.inbox.accept([arrivalOf('ended', 'token.new_kind')])
  const event = idOf(7)
  const handler = 'large-trades'
  const group = 'TypeError: cannot read amount # at run (handlers/large-trades.ts:8:11)'
  const letters = (await stage.inbox.deadLetters({ handler, limit: 9 })).data.map(({ runId }) => runId)
  const [dead = 0, other = 0] = letters
  const filter = { handler, group }
  const reason = 'a test'
  const audited = (await stage.inbox.audit({ limit: 99 })).data.length
  const replay = { type: 'wallet.large_trade', from: '2026-01-01', per_second: 5 }
  const span = { from: '2026-01-31T14:00:00Z', to: '2026-01-31T15:00:00Z' }
  const isDry = { dry_run: true }
  const complete = true
  const receipt = { headers: { 'user-agent': 'sender/1.0' }, traceparent: expect.any(String) }
  const steps: readonly Step[] = [
    ['getSession', {}, 401],
    ['signIn', { body: { token: viewerToken } }, 201],
    ['getSession'],
    ['signOut'],

    ['getEvent', { param: event }, { receipt }],
    ['getEvent', { param: 'nothing' }, 404],
    ['getEventBytes', { param: event }],
    ['exportEvents', { query: '?format=csv&handler=ledger' }],
    ['exportEvents', { query: '?format=xml' }, 400],
    ['listEvents'],
    [
      'listEvents',
      { query: '?type=wallet.large_trade&network=ethereum&address=0xabc&status=unhandled&q=dead&limit=2' },
    ],
    ['listEvents', { query: '?status=lost' }, 400],
    ['getOverview', {}, { now: '2026-01-31T14:00:00.000Z' }],
    ['getActivity'],
    ['getActivity', { query: '?window=day' }],
    ...['getHealth', 'listDrift', 'listSecrets', 'listReplicas', 'getSettings', 'listHandlers'].map(
      (id) => [id] as const,
    ),

    ['groupDeadLetters', {}, { data: [{ group, count: 3 }, { handler: 'ledger' }], complete }],
    ['listDeadLetters', { query: `?${new URLSearchParams(filter).toString()}` }],
    ['getDeadLetter', { param: dead }],
    ['getDeadLetter', { param: 'x' }, 404],
    ['requeueDeadLetters', { body: { filter, dryRun: true } }, { requeued: 3, complete, ...isDry }],
    ['requeueDeadLetters', { body: { run_ids: [dead] } }, { requeued: 1, complete }],
    ['dropDeadLetters', { body: { run_ids: [dead, other], reason, dryRun: true } }, { dropped: 1, ...isDry }],
    ['dropDeadLetters', { body: { filter, reason } }, { dropped: 2, complete }],
    ['dropDeadLetters', { body: { filter, reason } }, { dropped: 0, complete }],

    ['listQuarantine', { query: '?reason=not_json' }],
    ['getQuarantined', { param: unusableId }],
    ['retryQuarantine', { body: { all: true, dryRun: true } }, isDry],
    ['retryQuarantine', { body: { filter: { reason: 'not_json' } } }, { accepted: 0, still_unusable: 2 }],
    ['retryQuarantine', { body: { ids: ['sha256:00'] } }, { accepted: 0, still_unusable: 0 }],
    ['dropQuarantine', { body: { ids: ['sha256:00'], reason } }, { dropped: 0 }],
    ['dropQuarantine', { body: { ids: quarantinedIds.slice(0, 1), reason } }, { dropped: 1 }],
    ['dropQuarantine', { body: { all: true, reason, dryRun: true } }, { dropped: 2 }],
    ['dropQuarantine', { body: { filter: { reason: 'not_json' }, reason } }, { dropped: 1 }],

    ['listConflicts', {}, { data: [{ event_id: event }] }],
    ['getConflict', { param: event, query: `?digest=${digest}` }],
    ['getConflict', { param: event }, 400],
    ['getConflict', { param: event, query: `?digest=${'0'.repeat(64)}` }, 404],
    ['listRejects'],
    ['explainReject', { param: rejectId }, { code: 'base64' }],
    ['explainReject', { param: 'nothing' }, 404],

    ['pauseHandler', { param: handler }],
    ['pauseHandler', { param: 'nobody' }, 404],
    ['resumeHandler', { param: handler }],
    ['tryHandler', { param: 'chat' }, { handler: 'chat', result: 'failed' }],
    ['pauseAll'],
    ['resumeAll'],
    ['changeHandler', { param: handler, body: { concurrency: 2 } }],
    ['dropHandlerRuns', { param: handler, body: { reason } }],

    ['startReplay', { body: { ids: [event], dryRun: true } }],
    ['startReplay', { body: replay }, { id: 2 }],
    ['startReplay', { body: {} }, 400],
    ['startReplay', { body: { ids: [event] } }],
    ['listReplays', { query: '?limit=1' }],
    ['getReplay', { param: 2 }],
    ['cancelReplay', { param: 2 }, { cancelled: true }],

    ['getReconcile'],
    ['startReconcile', { body: span }, 202],
    ['startReconcile', { body: { from: '2026-01-31' } }, 400],
    ['getReconcile'],
    ['cancelReconcile'],
    ['cancelReconcile'],

    ['acknowledgeGaps'],
    ['prune', { body: { older_than_days: 0 } }],
    ['getEvent', { param: 'ended' }],
    ['getEventBytes', { param: 'ended' }, 404],

    ['followStream', { query: '?kinds=events' }],
    ['followStream', { query: '?kinds=all' }, 400],
    ['getDocument', {}, document.text],
  ]
  const byId = new Map(document.operations.map((operation) => [operation.id, operation]))
  const called = new Set<string>(['listAudit'])
  let cookie = ''
  for (const [id, { param = '', query = '', body } = {}, expected = 200] of steps) {
    // Only older events are pruned.
    if (id === 'prune') await clock.advance(1)
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
  const { data } = json as { data: { action: string; by: string }[] }
  const actions = data.slice(0, -audited).filter(({ action }) => !action.startsWith('session.'))
  expect(actions.map(({ action }) => action).toReversed()).toEqual([
    'dead.requeue',
    'dead.drop',
    'quarantine.drop',
    'quarantine.drop',
    ...'handler.pause handler.resume handler.pause handler.resume handler.set handler.drop'.split(' '),
    ...'replay.start replay.start replay.cancel reconcile.start reconcile.cancel'.split(' '),
    ...'gaps.acknowledge prune'.split(' '),
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
    param: fc.oneof(oddText, fc.constantFrom(idOf(7), '1', 'ledger')),
    query: queryOf(operation),
    body: operation.body === null ? fc.constant(undefined) : oddBody.map((text) => Buffer.from(text)),
  }),
)

test('arbitrary requests are answered as documented, and never with a 5xx', { timeout: 120_000 }, async () => {
  await using stage = await startFilledAdmin()
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
