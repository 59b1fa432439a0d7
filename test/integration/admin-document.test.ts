import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createPaces } from '../../src/dispatch/pace.ts'
import { createMeter } from '../../src/health/meter.ts'
import type { Reconcile, Reconciler, Warning } from '../../src/health/port.ts'
import { createSqliteInbox } from '../../src/inbox/sqlite/inbox.ts'
import { createTestClock } from '../../src/base/clock.ts'
import { toAdminOpenApi } from '../../src/admin/openapi.ts'
import { describedRoutes, routes } from '../../src/admin/routes.ts'
import { createRejects } from '../../src/receiver/rejects.ts'
import { parseSecrets } from '../../src/signature/keys.ts'
import { arrivalOf, giveUp, quarantinedOf } from '../fixtures/stored-events.ts'
import { readAdminDocument, type AdminOperation } from '../support/admin-document.ts'
import { createTempDir } from '../support/temp-dir.ts'
import { adminToken, setUpAdmin, viewerToken } from './admin-app.ts'

const start = Date.UTC(2026, 0, 31, 14, 0, 0)
const signatureHeader = 'x-service-signature'

function fakeReconciler(): Reconciler {
  let current: Reconcile | null = null
  return {
    isConfigured: true,
    check: () => {},
    start: ({ from, to }) =>
      (current = {
        id: 1,
        state: 'running',
        from,
        to,
        startedAt: start,
        endedAt: null,
        wallets: 2,
        walletsDone: 1,
        trades: 3,
        requests: 1,
        error: null,
        notes: ['alerts cannot be compared'],
        candidates: [{ network: 'base', wallet: '0xab', txHash: '0x01', tradedAt: '2026-01-31', summary: 'buy 1 ABC' }],
        candidateCount: 1,
      }),
    current: () => current,
    cancel: () => (current = current && { ...current, state: 'cancelled', endedAt: start + 1 }),
    close: async () => {},
  }
}

const warning: Warning = {
  code: 'ack_slow',
  subject: '',
  level: 'critical',
  title: 'Answers are slow',
  text: 'Look at the disk.',
  since: start,
  href: '/health',
}

/** A real server over a real file with something of everything in it. */
async function setUp(folder: string) {
  const clock = createTestClock(start)
  const inbox = await createSqliteInbox({ file: join(folder, 'inbox.db') })
  const [dead = 0, other = 0] = await giveUp(inbox, ['dead-1', 'dead-2', 'dead-3'])
  const bodies = ['{', '[1]', 'true', '"x"'].map((text) => quarantinedOf(Buffer.from(text)))
  await inbox.accept([
    arrivalOf('a', 'token.price_alert', '18446744073709551615'),
    {
      ...arrivalOf('b'),
      headers: '{"user-agent":"sender/1"}',
      trace: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    },
    arrivalOf('c', 'token.new_kind'),
    arrivalOf('a', 'token.price_alert', '2'),
    arrivalOf('b'),
    ...bodies,
  ])
  const meter = createMeter(clock)
  meter.acknowledged(12)
  const paces = createPaces(clock)
  const rejects = createRejects({
    clock,
    secrets: () => parseSecrets('main:a-secret-of-the-webhook'),
    path: '/webhooks',
    signatureHeader,
    storedHeaders: [],
    trustedProxies: [],
  })
  rejects.add(
    {
      method: 'POST',
      url: '/webhooks',
      headers: { [signatureHeader]: 'ab'.repeat(32) },
      socket: { remoteAddress: '192.0.2.1' },
    },
    'signature_mismatch',
    Buffer.from('{}'),
  )
  const set = await setUpAdmin({
    inbox,
    handlers: [info],
    more: {
      clock,
      now: () => clock.now(),
      meter,
      rejects,
      reconciler: fakeReconciler(),
      watch: {
        warnings: () => [warning],
        silences: () => [
          { type: 'a.b', network: null, lastAt: start, silentMs: 1.5, usualMs: 2, alarmAfterMs: 3, state: 'silent' },
        ],
        close: async () => {},
      },
      paces: () => paces.current(),
      shut: () => new Map([['trades', { reason: 'breaker', since: start, until: start, failures: 3, error: 'no' }]]),
      settings: () => [{ name: 'log level', value: 'info', source: 'default', secret: false }],
      secretLabels: () => ['main', 'next'],
      startedAt: start,
    },
  })
  set.app.listen(0, '127.0.0.1')
  await once(set.app, 'listening')
  const { port } = set.app.address() as AddressInfo
  return {
    inbox,
    clock,
    base: `http://127.0.0.1:${port}/api/v1`,
    ids: { dead, other, body: bodies.map(({ id }) => id), reject: rejects.list().groups[0]?.id ?? '' },
    async [Symbol.asyncDispose]() {
      set.admin.close()
      set.app.close()
      set.app.closeAllConnections()
      await inbox.close()
    },
  }
}

const info = {
  kind: 'handler' as const,
  name: 'trades',
  types: ['*'],
  order: 'key' as const,
  concurrency: 8,
  batch: 1,
  priority: 0,
  timeoutMs: 30_000,
  onDead: 'skip' as const,
  latestOnly: false,
  from: 'now' as const,
  isolate: false,
  retry: { attempts: 10, baseMs: 1_000, capMs: 600_000 },
  file: '/handlers/trades.ts',
}

interface Call {
  readonly id: string
  /** What stands for the parameter of the path. */
  readonly param?: string
  readonly query?: string
  readonly body?: object
  readonly status?: number
}

test(
  'every operation of the document answers as it says, on a server over a file with something of everything in it',
  { timeout: 120_000 },
  async () => {
    await using dir = await createTempDir()
    await using stage = await setUp(dir.path)
    const { ids, base, inbox, clock } = stage
    const document = readAdminDocument()
    const byId = new Map(document.operations.map((operation) => [operation.id, operation]))
    const called = new Set<string>()
    const headers = { Authorization: `Bearer ${adminToken}` }
    let cookie = ''

    async function call({ id, param = '', query = '', body, status = 200 }: Call): Promise<unknown> {
      const operation = byId.get(id) as AdminOperation
      const path = operation.path.replace(/\{\w+\}/, encodeURIComponent(param))
      const isSession = operation.path === '/session'
      const response = await fetch(`${base}${path}${query}`, {
        method: operation.method,
        headers: { ...(isSession ? { Cookie: cookie } : headers), ...(body && { 'Content-Type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      })
      cookie ||= response.headers.get('set-cookie')?.split(';')[0] ?? ''
      const type = response.headers.get('content-type')
      const text = type === 'text/event-stream' ? '' : await response.text()
      if (type === 'text/event-stream') await response.body?.cancel()
      expect({ id, status: response.status, text: response.status === status ? '' : text }).toEqual({
        id,
        status,
        text: '',
      })
      expect(document.problemsOf(operation, { status, type, text })).toEqual([])
      if (body !== undefined && status < 300) expect(document.isBody(operation, body), id).toBe(true)
      if (status < 300) called.add(id)
      return type === 'application/json' ? JSON.parse(text) : undefined
    }

    await call({ id: 'getSession', status: 401 })
    await call({ id: 'signIn', body: { token: viewerToken }, status: 201 })
    await call({ id: 'getSession' })
    await call({ id: 'signOut' })

    const event = (await call({ id: 'getEvent', param: 'b' })) as { receipt: object }
    expect(event.receipt).toMatchObject({ headers: { 'user-agent': 'sender/1' }, traceparent: expect.any(String) })
    await call({ id: 'getEvent', param: 'dead-1' })
    await call({ id: 'getEvent', param: 'nothing', status: 404 })
    await call({ id: 'getEventBytes', param: 'a' })
    await call({ id: 'listEvents' })
    await call({
      id: 'listEvents',
      query: '?type=wallet.large_trade&network=ethereum&address=0xabc&status=unhandled&q=dead&limit=2',
    })
    await call({ id: 'listEvents', query: '?status=lost', status: 400 })

    const { now } = (await call({ id: 'getOverview' })) as { now: string }
    expect(now).toBe(new Date(start).toISOString())
    await call({ id: 'getActivity' })
    await call({ id: 'getActivity', query: '?window=day' })
    for (const id of ['getHealth', 'listDrift', 'listSecrets', 'listReplicas', 'getSettings', 'listHandlers'])
      await call({ id })

    const groups = (await call({ id: 'groupDeadLetters' })) as { data: { group: string }[] }
    const group = groups.data[0]?.group ?? ''
    await call({ id: 'listDeadLetters', query: `?handler=trades&group=${encodeURIComponent(group)}` })
    await call({ id: 'getDeadLetter', param: String(ids.dead) })
    await call({ id: 'getDeadLetter', param: 'x', status: 404 })
    const filter = { handler: 'trades', group }
    expect(await call({ id: 'requeueDeadLetters', body: { filter, dryRun: true } })).toEqual({
      requeued: 3,
      complete: true,
      dry_run: true,
    })
    const requeued = await call({ id: 'requeueDeadLetters', body: { run_ids: [ids.dead] } })
    expect(requeued).toEqual({ requeued: 1, complete: true })
    expect(
      await call({ id: 'dropDeadLetters', body: { run_ids: [ids.dead, ids.other], reason: 'gone', dryRun: true } }),
    ).toEqual({
      dropped: 1,
      complete: true,
      dry_run: true,
    })
    for (const dropped of [2, 0]) {
      const answer = await call({ id: 'dropDeadLetters', body: { filter, reason: 'gone' } })
      expect(answer).toEqual({ dropped, complete: true })
    }

    await call({ id: 'listQuarantine', query: '?reason=not_json' })
    await call({ id: 'groupQuarantine' })
    await call({ id: 'getQuarantined', param: ids.body[0] ?? '' })
    await call({ id: 'retryQuarantine', body: { all: true, dryRun: true } })
    const retried = await call({ id: 'retryQuarantine', body: { filter: { reason: 'not_json' } } })
    expect(retried).toMatchObject({ accepted: 0, still_unusable: 4 })
    await call({ id: 'retryQuarantine', body: { ids: ['sha256:00'] }, status: 404 })
    expect(await call({ id: 'dropQuarantine', body: { ids: ['sha256:00'], reason: 'a test' } })).toEqual({ dropped: 0 })
    expect(await call({ id: 'dropQuarantine', body: { ids: ids.body.slice(0, 1), reason: 'a test' } })).toEqual({
      dropped: 1,
    })
    expect(await call({ id: 'dropQuarantine', body: { all: true, reason: 'a test', dryRun: true } })).toMatchObject({
      dropped: 3,
    })
    expect(await call({ id: 'dropQuarantine', body: { filter: { reason: 'not_json' }, reason: 'a test' } })).toEqual({
      dropped: 3,
    })

    const conflicts = (await call({ id: 'listConflicts' })) as { data: { event_id: string; digest: string }[] }
    expect(conflicts.data.map(({ event_id: id }) => id)).toEqual(['a'])
    await call({ id: 'getConflict', param: 'a', query: `?digest=${conflicts.data[0]?.digest}` })
    await call({ id: 'getConflict', param: 'a', status: 400 })
    await call({ id: 'getConflict', param: 'a', query: `?digest=${'0'.repeat(64)}`, status: 404 })

    await call({ id: 'listRejects' })
    expect(await call({ id: 'explainReject', param: ids.reject })).toMatchObject({ code: 'wrong_secret' })
    await call({ id: 'explainReject', param: 'nothing', status: 404 })

    await call({ id: 'pauseHandler', param: 'trades' })
    await call({ id: 'pauseHandler', param: 'nobody', status: 404 })
    await call({ id: 'resumeHandler', param: 'trades' })
    await call({ id: 'pauseAll' })
    await call({ id: 'resumeAll' })
    await call({ id: 'changeHandler', param: 'trades', body: { concurrency: 2 } })
    await call({ id: 'dropHandlerRuns', param: 'trades', body: { reason: 'gone' } })

    await call({ id: 'startReplay', body: { ids: ['a'], dryRun: true } })
    const replay = (await call({
      id: 'startReplay',
      body: { type: 'wallet.large_trade', from: '2026-01-01', per_second: 5 },
    })) as {
      id: number
    }
    await call({ id: 'startReplay', body: {}, status: 400 })
    await call({ id: 'replayEvent', param: 'a' })
    await call({ id: 'listReplays', query: '?limit=1' })
    await call({ id: 'getReplay', param: String(replay.id) })
    expect(await call({ id: 'cancelReplay', param: String(replay.id) })).toMatchObject({ cancelled: true })

    await call({ id: 'getReconcile' })
    await call({
      id: 'startReconcile',
      body: { from: '2026-01-31T14:00:00Z', to: '2026-01-31T15:00:00Z' },
      status: 202,
    })
    await call({ id: 'startReconcile', body: { from: '2026-01-31' }, status: 400 })
    await call({ id: 'getReconcile' })
    await call({ id: 'cancelReconcile' })
    await call({ id: 'cancelReconcile' })

    const subscription = {
      digest: '0'.repeat(64),
      url: 'https://example.com/hook',
      events: ['*'],
      secret_label: 'main',
      replaces: null,
    }
    await call({ id: 'beginSubscription', body: subscription })
    await call({ id: 'getSubscription' })
    await call({ id: 'endSubscription', param: '1', body: { state: 'registered', answer: null } })
    await call({ id: 'getSubscription' })
    await call({ id: 'acknowledgeGaps' })
    await clock.advance(1)
    await call({ id: 'prune', body: { older_than_days: 0 } })
    await call({ id: 'getEvent', param: 'dead-2' })
    await call({ id: 'getEventBytes', param: 'dead-2', status: 404 })

    await call({ id: 'followStream', query: '?kinds=events' })
    await call({ id: 'followStream', query: '?kinds=all', status: 400 })
    expect(await call({ id: 'getDocument' })).toEqual(JSON.parse(JSON.stringify(toAdminOpenApi(describedRoutes))))
    const audit = (await call({ id: 'listAudit', query: '?limit=200' })) as {
      data: { action: string; by: string | null }[]
    }
    expect(called).toEqual(new Set(byId.keys()))

    // Every act is there once, with who did it; what was only counted, or had nothing left to do, is not.
    const acts = audit.data.filter(({ action }) => !action.startsWith('session.')).toReversed()
    expect(acts.map(({ action }) => action)).toEqual([
      'dead.requeue',
      'dead.drop',
      ...Array.from({ length: 4 }, () => 'quarantine.drop'),
      'handler.pause',
      'handler.resume',
      'handler.pause',
      'handler.resume',
      'handler.set',
      'handler.drop',
      'replay.start',
      'replay.start',
      'replay.cancel',
      'reconcile.start',
      'reconcile.cancel',
      'subscription.begin',
      'subscription.register',
      'prune',
    ])
    expect(new Set(acts.map(({ by }) => by))).toEqual(new Set(['operator (token) 127.0.0.1']))
    expect((await inbox.stats()).quarantined).toBe(0)
  },
)

test('the document has every route of the table once, and says of each who may call it', () => {
  const { operations } = readAdminDocument()
  const documented = operations.map(({ method, path }) => `${method} ${path.replace(/\{\w+\}/, ':id')}`)
  expect(new Set(documented).size).toBe(documented.length)
  const served = routes.map(({ method, path }) => `${method.toUpperCase()} ${path}`)
  const apart = ['GET /session', 'POST /session', 'DELETE /session', 'GET /events/:id/raw', 'GET /stream']
  expect(documented.toSorted()).toEqual([...served, ...apart].toSorted())
  for (const { id, method, role } of operations) {
    const open = ['signIn', 'signOut', 'getDocument'].includes(id)
    expect(role, id).toBe(open ? null : method === 'GET' ? 'viewer' : 'operator')
  }
})

test('the page about the admin API names every operation, and none that is not there', () => {
  const page = readFileSync('docs/admin-api.md', 'utf8')
  const named = [...page.matchAll(/`(GET|POST|PATCH|DELETE) (\/[a-z./:-]+)/g)].map(
    ([, method, path]) => `${method} ${path}`,
  )
  const beside = ['GET /metrics', 'GET /healthz', 'GET /readyz', 'GET /api/v']
  const documented = readAdminDocument().operations.map(
    ({ method, path }) => `${method} ${path.replace(/\{\w+\}/, ':id')}`,
  )
  expect(new Set(named.filter((name) => !beside.includes(name)))).toEqual(new Set(documented))
})
