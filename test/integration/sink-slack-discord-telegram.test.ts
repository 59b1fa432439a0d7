import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { eventTypes, type AnyEvent } from '../../schema/index.ts'
import { createTestClock } from '../../src/base/clock.ts'
import type { SinkItem } from '../../src/dispatch/define-sink.ts'
import { RetryableError, TerminalError } from '../../src/base/errors.ts'
import { createEvent } from '../../src/app/testing/create-event.ts'
import { createTestInbox } from '../../src/app/testing/test-inbox.ts'
import { eventSamples } from '../fixtures/event-samples.ts'
import { counts } from '../counts.ts'
import { chatKinds } from '../support/chat-kinds.ts'
import { FakeChat, items, sendingStage } from '../support/fake-chat.ts'
import { until } from '../support/until.ts'

const text = (said: string) => ({ payload: { text: said } })
const numbered = (count: number) => Array.from({ length: count }, (_, index) => text(`message ${index + 1}.`))
const hostile = [
  '<!channel> & <https://evil.example|click>',
  '@everyone <@1> *b* _i_ ~s~ `c` ||s|| # h > q [a](https://evil.example)',
  '<a href="https://evil.example">x</a><b>&lt;',
  '\\ \\\\ \\n &amp; &#38; {data.symbol}',
]

describe.each(chatKinds)('the sink $kind', ({ rules, who, secret, gapMs, atOnce, create }) => {
  async function stage(templates?: object) {
    const fake = await FakeChat.start(rules)
    const sending = sendingStage()
    const sink = create(fake, templates, sending.timing)
    const send = (batch: readonly SinkItem[]) => sending.send(sink, batch)
    return {
      fake,
      ...sending,
      send,
      /** Sends again and again, as the dispatcher would; gives the errors there were. */
      async deliver(batch: readonly SinkItem[]): Promise<unknown[]> {
        const errors: unknown[] = []
        for (let sends = 0; sends < 100; sends++) {
          const error = await send(batch)
          sending.pass(sending.pauses.splice(0).at(-1) ?? gapMs)
          if (error === undefined) return errors
          errors.push(error)
        }
        throw new Error('it was sent 100 times')
      },
      [Symbol.asyncDispose]: () => fake[Symbol.asyncDispose](),
    }
  }

  test('R93–R102 says what happened, where and when, with links, of each type', async () => {
    await using to = await stage()
    for (const type of eventTypes) {
      expect(await to.send(items(eventSamples[type]))).toBeUndefined()
      to.pass(gapMs)
    }
    expect(to.fake.refused).toEqual([])
    expect(to.fake.shown).toHaveLength(eventTypes.length)
    expect(to.fake.shown[3]).toBe(
      '🔹 0x5aAe…BeAed bought PEPE for $12,345.67\nethereum · 14:03:22 UTC · transaction · token · wallet',
    )
    expect(to.fake.shown[6]).toBe(
      '🔴 TRAP is a honeypot (sell_blocked), risk 97\n' +
        'polygon · 14:03:22 UTC · holders 1,132 · liquidity $12,000.00 · summary Transfers to the pool revert. · contract',
    )
    expect(to.fake.accepted[3]?.links[0]).toBe(`https://etherscan.io/tx/0x${'4'.repeat(64)}`)
    expect(to.fake.accepted.every(({ links }) => links.length > 0)).toBe(true)
  })

  test('R127 says of an unknown type what it can', async () => {
    await using to = await stage()
    await to.send(items({ id: 'evt_1', type: 'token_burned', created_at: '', data: { network: 'ton', amount: 5 } }))
    expect(to.fake.shown).toEqual(['🔹 token_burned\nton · --:--:-- UTC · amount 5'])
  })

  test('writes what the template of a type says, the values escaped', async () => {
    await using to = await stage({ 'wallet.*': '*{data.token_symbol}* {data.amount_usd|usd} {links}' })
    const event = createEvent('wallet.large_trade', { data: { token_symbol: '<b>_x_</b>', amount_usd: 5 } })
    expect(await to.send(items(event))).toBeUndefined()
    expect(to.fake.shown).toEqual(['*<b>_x_</b>* $5.00 transaction · token · wallet'])
  })

  test.each(hostile)('shows %j as it is, from a handler', async (said) => {
    await using to = await stage()
    expect(await to.send(items(text(`${said}\n\n${said}\u202e`)))).toBeUndefined()
    expect(to.fake.shown).toEqual([`${said}\n\n${said}\\u202e`])
  })

  test('R103 makes of no symbol a link, a mention or a broken message', async () => {
    await using to = await stage({ '*': '{data.symbol} {data.name}' })
    const odd = fc.oneof(
      fc.constantFrom(...hostile, 'https://evil.example/x', 'evil.example', '\u202e\ud800'),
      fc.string({ unit: 'binary' }),
      fc.string({ unit: fc.constantFrom('<', '>', '&', '*', '\\', '|', '`', '\n', ' ', '@', '[', ']', '(', ')', 'é') }),
    )
    const examples = hostile.map((said): [string, string] => [said, said])
    examples.push(['x'.repeat(100_000), '<&*'.repeat(33_000)])
    await fc.assert(
      fc.asyncProperty(odd, odd, async (symbol, name) => {
        const data = { network: 'base', symbol, name }
        const event: AnyEvent = { id: 'evt_1', type: 'x', created_at: '', data }
        await to.deliver(items(event, text(`.${symbol}`)))
        expect(to.fake.refused).toEqual([])
        expect(to.fake.accepted.flatMap(({ links }) => links)).toEqual([])
      }),
      { numRuns: counts.chatRuns, examples },
    )
  })

  test('puts a burst into few messages, in order, and waits as long as the service wants between', async () => {
    await using to = await stage()
    const batch = numbered(14)
    expect(await to.send(items(...batch).toReversed())).toBeUndefined()
    expect(to.fake.shown).toEqual([batch.map(({ payload }) => payload.text).join('\n')])
    for (let n = 1; n < atOnce; n++) expect(await to.send(items(text('more')))).toBeUndefined()
    expect(to.pauses).toEqual([gapMs])
    expect(to.sleeps).toEqual([])
  })

  test('splits what one message does not hold, keeps the pace in between, and sends no part twice', async () => {
    await using to = await stage()
    const said = Array.from({ length: 1_500 }, (_, index) => `word${index}`).join(' ')
    to.fake.next.push({ status: 500 })
    const errors = await to.deliver(items(text(said)))
    expect(errors[0]).toMatchObject({ message: `${who} answered 500` })
    expect(to.fake.refused).toEqual([])
    expect(to.fake.shown.length).toBeGreaterThan(2)
    expect(to.fake.shown.join(' ')).toBe(said)
    if (atOnce === 1) expect(to.sleeps.length).toBe(to.fake.shown.length - 1)
  })

  test('waits as long as a 429 says, and says so to the dispatcher', async () => {
    await using to = await stage()
    to.fake.next.push({ tooMany: 7 })
    const error = await to.send(items(text('a')))
    expect(error).toBeInstanceOf(RetryableError)
    expect(error).toMatchObject({ retryAfterMs: 7_000, message: expect.stringContaining(`${who} answered 429`) })
    expect(to.pauses).toEqual([7_000])
    to.pass(7_000)
    expect(await to.send(items(text('a')))).toBeUndefined()
    expect(to.fake.shown).toEqual(['a'])
  })

  test('sends nothing twice when it fails in the middle of a digest, or of an item with several parts', async () => {
    await using to = await stage()
    const batch = items(
      ...Array.from('abcdefghijkl', (name) => text(`${name}${'-'.repeat(name === 'f' ? 6_000 : 1_200)}`)),
    )
    // Of each three requests one fails, before anything is done.
    const { answer } = to.fake.server
    let requests = 0
    to.fake.server.answer = (request) => (++requests % 3 === 0 ? { status: 503, body: 'later' } : answer(request))
    const errors = await to.deliver(batch)
    expect(errors.length).toBeGreaterThan(0)
    expect(to.fake.shown.join('').replaceAll(/[-\n]/g, '')).toBe('abcdefghijkl')
    expect(to.fake.shown.join('').match(/-/g)).toHaveLength(11 * 1_200 + 6_000)
  })

  test('sends what is new beside what was sent of a send that failed', async () => {
    await using to = await stage()
    const [sent, long, fresh] = items(text('sent'), text('-'.repeat(6_000)), text('fresh'))
    const { answer } = to.fake.server
    to.fake.server.answer = (request) => (to.fake.accepted.length === 1 ? { status: 500 } : answer(request))
    expect(await to.send([sent!, long!])).toBeInstanceOf(Error)
    to.fake.server.answer = answer
    to.pass(gapMs)
    expect(await to.send([sent!, fresh!])).toBeUndefined()
    expect(to.fake.shown).toEqual(['sent', 'fresh'])
  })

  test('replaces a message that the service will not have, and sends the others beside it once', async () => {
    await using to = await stage()
    to.fake.dislikes = ({ shown }) => shown.includes('poison')
    await to.deliver(items(text('one'), text('poison <x>'), text('three')))
    expect(to.fake.shown).toEqual(['one', 'An event could not be shown: x, evt_p', 'three'])
    expect(to.lines).toMatchObject([{ level: 'warn', message: 'the chat service refused a message' }])
  })

  test('does not go through all items where the service will have none', async () => {
    await using to = await stage()
    to.fake.dislikes = () => true
    const error = await to.send(items(...numbered(14)))
    expect(error).toBeInstanceOf(Error)
    expect(error).not.toBeInstanceOf(TerminalError)
    expect(to.fake.refused.length).toBeLessThanOrEqual(3)
  })

  test.each([null, 'text', [], {}, { text: 5 }, { text: ' \n' }])('takes no %j from a handler', async (payload) => {
    await using to = await stage()
    const error = await to.send(items({ payload }))
    expect(error).toBeInstanceOf(TerminalError)
    expect(error).toMatchObject({ message: expect.stringContaining("takes { text: '…' }") })
    expect(to.fake.server.requests).toEqual([])
    // Beside others it is shown what is wrong: an error would be one for all of them.
    expect(await to.send(items({ payload }, text('fine')))).toBeUndefined()
    expect(to.fake.shown.join()).toMatch(/takes \{ text: '…' \}[^]*fine/)
    expect(to.lines).toMatchObject([{ level: 'error' }])
  })

  test('keeps its secret to itself, whatever goes wrong', async () => {
    await using to = await stage()
    const said: unknown[] = []
    for (const answer of [
      { status: 404, body: `no route ${to.fake.url} ${rules.path} ${encodeURIComponent(secret)}` },
      { status: 500, body: `${'x'.repeat(190)}${secret}` },
      { status: 302, headers: { Location: to.fake.url } },
      { status: 401, body: secret },
    ]) {
      to.fake.next.push(answer)
      said.push(await to.send(items(text('a'))))
      to.pass(gapMs)
    }
    to.fake.dislikes = () => true
    said.push(await to.send(items(text('a'))))
    const { url, origin } = to.fake
    await to.fake[Symbol.asyncDispose]()
    said.push(await to.send(items(text('a'))))
    const unreachable = await sendingStage().send(create({ url, origin }), items(text('a')))
    expect(unreachable).toMatchObject({ message: `${who} could not be reached: ECONNREFUSED` })
    expect(said.every((error) => error instanceof Error)).toBe(true)
    const all = [...said, unreachable].map(
      (error) => `${String(error)} ${(error as Error).stack} ${JSON.stringify(error)}`,
    )
    for (const hidden of [secret, encodeURIComponent(secret), rules.path]) {
      expect(all.join('\n')).not.toContain(hidden)
      expect(JSON.stringify(to.lines)).not.toContain(hidden)
    }
  })

  test('ends at once when its time is over', async () => {
    await using to = await stage()
    to.fake.server.answer = () => null
    const sent = to.send(items(text('a')))
    await to.fake.server.received(1)
    to.abort.abort(new Error('over'))
    expect(await sent).toEqual(new Error('over'))
  })

  test('goes with a dispatcher: digests while it waits its turn, each event once', async () => {
    await using fake = await FakeChat.start(rules)
    const clock = createTestClock()
    const sleep = (ms: number) => new Promise<void>((resolve) => void clock.after(ms, resolve))
    const sink = { ...create(fake, { '*': '{id}.' }, { now: () => clock.now(), sleep }), type: '*' as const }
    await using inbox = await createTestInbox({ handlers: [sink], clock })
    const ids = Array.from({ length: 60 }, (_, index) => `evt${index}`)
    for (const id of ids) await inbox.deliver(createEvent('token.price_alert', { id }))
    const shown = () => fake.shown.flatMap((one) => one.replaceAll('.', '').split('\n'))
    fake.next.push({ tooMany: 3 })
    await until(async () => {
      await inbox.idle()
      if (shown().length < ids.length) await inbox.advance(500)
      return shown().length >= ids.length
    }, 'all events are shown')
    expect(shown().toSorted()).toEqual(ids.toSorted())
    expect(fake.accepted.length).toBeLessThanOrEqual(20)
    expect(await inbox.deadLetters()).toEqual([])
  })
})
