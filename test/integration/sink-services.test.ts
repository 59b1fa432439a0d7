import { describe, expect, test } from 'vitest'
import { RetryableError, TerminalError } from '../../src/base/errors.ts'
import { eventSamples } from '../fixtures/event-samples.ts'
import { items, services, stageService } from '../support/fake-chat.ts'

const item = items(eventSamples['contract.honeypot_detected'])
const notForChats: readonly unknown[] = [null, 'text', [], {}, { text: 5 }, { text: ' \n' }]
const notForPagers: readonly unknown[] = [
  null,
  'text',
  [],
  {},
  { summary: '', message: '' },
  { summary: 's', message: 'm', color: 'red' },
]

describe.each([
  { kind: 'slack', payloads: notForChats },
  { kind: 'discord', payloads: [] },
  { kind: 'telegram', payloads: [] },
  { kind: 'pagerduty', payloads: notForPagers },
] as const)('the sink $kind', ({ kind, payloads }) => {
  const { who, rules, secret } = services[kind]

  test('pauses as long as a 429 asks, and retries other errors', async () => {
    await using to = await stageService(kind)
    to.fake.next.push({ tooMany: 7 }, { status: 503, body: 'down' })
    const error = await to.send(item)
    expect(error).toBeInstanceOf(RetryableError)
    expect(error).toMatchObject({ retryAfterMs: 7_000, message: expect.stringContaining(`${who} answered 429`) })
    expect(to.pauses).toEqual([7_000])
    to.pass(7_000)
    expect(await to.send(item)).toEqual(new Error(`${who} answered 503: down`))
    expect(await to.send(item)).toBeUndefined()
    expect(to.fake.shown).toHaveLength(1)
  })

  test('shows its secret in no error or log line', async () => {
    await using to = await stageService(kind)
    const said: unknown[] = []
    for (const answer of [
      { status: 404, body: `no route ${to.fake.url} ${rules.path} ${encodeURIComponent(secret)}` },
      { status: 500, body: `${'x'.repeat(190)}${secret}` },
      { status: 302, headers: { Location: to.fake.url } },
      { status: 400, body: JSON.stringify({ key: secret }) },
      { status: 401, body: secret },
    ]) {
      to.fake.next.push(answer)
      said.push(await to.send(item))
      to.pass(10_000)
    }
    to.fake.dislikes = () => true
    said.push(await to.send(item))
    to.pass(10_000)
    await to.fake[Symbol.asyncDispose]()
    said.push(await to.send(item))
    const unreachable = await to.send(item)
    expect(unreachable).toMatchObject({ message: `${who} could not be reached: ECONNREFUSED` })
    const errors = [...said, unreachable].filter((error) => error instanceof Error)
    const all = errors.map((error) => `${String(error)} ${error.stack} ${JSON.stringify(error)}`)
    // Chats replace the message that was answered 400.
    expect(all.length).toBeGreaterThanOrEqual(6)
    // The path of a pager is documented; that of a chat's webhook is a secret.
    const paths = kind === 'pagerduty' ? [] : [rules.path]
    for (const hidden of [secret, encodeURIComponent(secret), ...paths]) {
      expect(all.join('\n')).not.toContain(hidden)
      expect(JSON.stringify(to.lines)).not.toContain(hidden)
    }
  })

  test.each(payloads)('rejects the payload %j', async (payload) => {
    await using to = await stageService(kind)
    const error = await to.send(items({ payload }))
    expect(error).toBeInstanceOf(TerminalError)
    expect(error).toMatchObject({ message: expect.stringMatching(/the sink (?:out )?takes \{/) })
    expect(to.fake.server.requests).toEqual([])
  })

  test('ends at once on abort', async () => {
    await using to = await stageService(kind)
    to.fake.server.answer = () => null
    const sent = to.send(item)
    await to.fake.server.received(1)
    to.abort.abort(new Error('over'))
    expect(await sent).toEqual(new Error('over'))
  })
})
