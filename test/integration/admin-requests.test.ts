import { expect, test } from 'vitest'
import { createDeadLetters, quarantinedOf } from '../fixtures/stored-events.ts'
import { eventBytes } from '../support/signed.ts'
import { setUpAdmin } from './admin-app.ts'
import { startAdmin } from './admin-server.ts'

const digest = 'the digest of the different body from the list, 64 lower-case hex digits'
const invalid = [
  ['GET events?limit=0', 'limit: got "0", expected a whole number from 1 to 200'],
  ['GET events?limit=1&limit=2', 'limit: got ["1","2"], expected a whole number from 1 to 200'],
  ['GET events?q=%20', 'q: got " ", expected words that the body must contain, 1 to 255 characters'],
  ['GET dead-letters?handlr=x', 'handlr: unknown parameter, expected handler, type, group, limit, cursor'],
  ['GET handlers?all=true', 'all: unknown parameter, expected none'],
  ['GET activity?window=week', 'window: got "week", expected hour or day'],
  ['GET stream?kinds=events,none', 'kinds: got "events,none", expected some of events,overview,changed'],
  ['GET conflicts/a', `digest: got nothing, expected ${digest}`],
  ['POST dead-letters/requeue', 'filter is invalid: got an object without fields, expected {"run_ids"', { filter: {} }],
  ['POST dead-letters/requeue', 'filter is invalid: got an object with handlr, exp', { filter: { handlr: 'x' } }],
  ['POST dead-letters/requeue', 'the body is invalid: got an object with all, filter, ', { all: true, filter: {} }],
  ['POST dead-letters/drop', 'the body is invalid: got an object with all, expected {"run_ids"', { all: true }],
  ['POST quarantine/retry', 'the body is invalid: got a list, expected {"ids"', []],
  ['POST quarantine/drop', 'reason is invalid: got a string, expected {"ids"', { all: true, reason: ' ' }],
  ['POST reconcile', 'to: got nothing, expected a time in ISO 8601', { from: '2026-01-31' }],
  ['POST reconcile', 'from: got "now", expected a time in ISO 8601', { from: 'now', to: '2026-01-31' }],
] as const

test('invalid parameters and bodies are rejected with the given value and the rule, and change nothing', async () => {
  await using stage = await startAdmin()
  await createDeadLetters(stage.inbox, ['a'])
  for (const [target, message, body] of invalid) {
    const [method = '', path = ''] = target.split(' ')
    const { status, json } = await stage.call(method, `/${path}`, body)
    const error = { code: 'bad_request', message: expect.stringContaining(message) }
    expect([target, status, json]).toEqual([target, 400, { error }])
  }
  expect((await stage.inbox.stats()).handlers[0]).toMatchObject({ dead: 1 })
})

test('an action with a filter covers more than a page of matches, and nothing else', async () => {
  await using stage = await startAdmin()
  const { inbox } = stage
  const many = Array.from({ length: 450 }, (_, n) => `e${n}`)
  await createDeadLetters(inbox, many, 'no pair 17 at 0xabcdef0123')
  await createDeadLetters(inbox, ['other'], 'something else')
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

test('an action answers complete: false if the filter matches more than its limit', async () => {
  const { inbox } = await setUpAdmin()
  const [first = 0] = await createDeadLetters(inbox, ['a', 'b'])
  const deadRunIds = async () => ({ runIds: [first], isComplete: false })
  await using stage = await startAdmin({ inbox: { ...inbox, deadRunIds } })
  const filter = { handler: 'trades' }
  const reason = 'a test'
  for (const [path, body, expected] of [
    ['requeue', { filter, dryRun: true }, { requeued: 1, complete: false, dry_run: true }],
    ['requeue', { filter }, { requeued: 1, complete: false }],
    ['drop', { filter, reason }, { dropped: 0, complete: false }],
    ['drop', { all: true, reason }, { dropped: 1, complete: true }],
  ] as const)
    expect([path, (await stage.call('POST', `/dead-letters/${path}`, body)).json]).toEqual([path, expected])
})

test('a quarantine retry and a drop ignore unknown ids', async () => {
  await using stage = await startAdmin()
  const { inbox } = stage
  const bodies = [quarantinedOf(eventBytes({ id: 'evt_1' })), quarantinedOf(Buffer.from('b'))]
  await inbox.accept(bodies)
  const [a = '', b = ''] = bodies.map(({ id }) => id)
  const ids = [a, 'sha256:00', b]
  const drop = { ids, reason: 'a test' }
  for (const [path, body, expected] of [
    ['retry', { ids, dryRun: true }, { accepted: 1, still_unusable: 1 }],
    ['retry', { ids: [...ids, a] }, { accepted: 1, still_unusable: 1 }],
    ['retry', { ids: [a] }, { accepted: 0, still_unusable: 0 }],
    ['drop', { ...drop, dryRun: true }, { dropped: 1 }],
    ['drop', drop, { dropped: 1 }],
    ['drop', drop, { dropped: 0 }],
  ] as const)
    expect((await stage.call('POST', `/quarantine/${path}`, body)).json).toMatchObject(expected)
})

test('without access to the upstream a reconcile is rejected with the missing settings', async () => {
  await using stage = await startAdmin()
  const { status, json } = await stage.call('POST', '/reconcile', { from: '2026-01-30', to: '2026-01-31' })
  const message = 'no access to the upstream: set INBOX_API_URL and INBOX_API_KEY'
  expect([status, json]).toEqual([409, { error: { code: 'api_not_configured', message } }])
  for (const [method, path] of [
    ['GET', '/reconcile'],
    ['POST', '/reconcile/cancel'],
  ] as const)
    expect((await stage.call(method, path)).json).toEqual({ configured: false, reconcile: null })
})
