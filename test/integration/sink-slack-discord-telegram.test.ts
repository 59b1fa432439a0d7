import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { eventTypes, type AnyEvent } from '../../schema/index.ts'
import { exampleIds } from '../../schema/rest/examples.ts'
import type { SinkItem } from '../../src/dispatch/define-sink.ts'
import { TerminalError } from '../../src/base/errors.ts'
import { eventSamples } from '../fixtures/event-samples.ts'
import { counts } from '../counts.ts'
import { discordRules } from '../support/fake-chat-rules.ts'
import { items, type services, stageService } from '../support/fake-chat.ts'

const text = (said: string) => ({ payload: { text: said } })
const numbered = (count: number) => Array.from({ length: count }, (_, index) => text(`message ${index + 1}.`))
const hostile = [
  '<!channel> & <https://evil.example|click>',
  '@everyone <@1> *b* _i_ ~s~ `c` ||s|| # h > q [a](https://evil.example)',
  '<a href="https://evil.example">x</a><b>&lt;',
  '\\ \\\\ \\n &amp; &#38; {data.symbol}',
]

async function start(kind: keyof typeof services, options: object = {}) {
  const to = await stageService(kind, options)
  return {
    ...to,
    /** Sends texts that a handler enqueued. */
    say: (...texts: string[]) => to.send(items(...texts.map((said) => text(said)))),
    /** Sends until it succeeds, as the dispatcher does. Returns the errors. */
    async deliver(batch: readonly SinkItem[]): Promise<unknown[]> {
      const errors: unknown[] = []
      for (let sends = 0; sends < 100; sends++) {
        const error = await to.send(batch)
        to.pass(to.pauses.splice(0).at(-1) ?? 2_000)
        if (error === undefined) return errors
        errors.push(error)
      }
      throw new Error('still failing after 100 sends')
    },
  }
}

// `gapMs`: pause after `atOnce` messages.
describe.each([
  { kind: 'slack', gapMs: 1_000, atOnce: 1 },
  { kind: 'discord', gapMs: 2_000, atOnce: 5 },
  { kind: 'telegram', gapMs: 1_000, atOnce: 1 },
] as const)('the sink $kind', ({ kind, gapMs, atOnce }) => {
  const stage = (templates?: object) => start(kind, { templates })

  test('R93–R102 shows title, network, time and links of each type', async () => {
    await using to = await stage()
    for (const type of eventTypes) {
      expect(await to.send(items(eventSamples[type]))).toBeUndefined()
      to.pass(gapMs)
    }
    expect(to.fake.rejected).toEqual([])
    expect(to.fake.shown).toHaveLength(eventTypes.length)
    expect(to.fake.shown[3]).toBe(
      '🔹 0x5aAe…BeAed bought EXMPL for $12,000.00\nethereum · 14:03:22 UTC · wallet · token · transaction',
    )
    expect(to.fake.shown[6]).toBe(
      '🔴 EXMPL is a honeypot (sell_blocked), risk 97\n' +
        'ethereum · 14:03:22 UTC · holders 1,132 · liquidity $12,000.00 · ' +
        'summary A simulated sale of EXMPL fails (sell_blocked): buyers cannot sell. · contract',
    )
    expect(to.fake.accepted[3]?.links).toContain(`https://etherscan.io/tx/${exampleIds.tx}`)
    expect(to.fake.accepted.every(({ links }) => links.length > 0)).toBe(true)
  })

  test.each(hostile)('shows %j from a handler unchanged', async (said) => {
    await using to = await stage()
    expect(await to.send(items(text(`${said}\n\n${said}\u202e`)))).toBeUndefined()
    expect(to.fake.shown).toEqual([`${said}\n\n${said}\\u202e`])
  })

  test('R103 turns no symbol into a link, a mention or a broken message', async () => {
    await using to = await stage({ '*': '{data.symbol} {data.name}' })
    const odd = fc.oneof(
      fc.constantFrom(...hostile, 'https://evil.example/x', 'evil.example', '\u202e\ud800', '\0😀'),
      fc.string(),
      fc.string({ unit: fc.constantFrom('<', '>', '&', '*', '\\', '|', '`', '\n', ' ', '@', '[', ']', '(', ')', 'é') }),
    )
    const examples = hostile.map((said): [string, string] => [said, said])
    examples.push(['x'.repeat(100_000), '<&*'.repeat(33_000)])
    await fc.assert(
      fc.asyncProperty(odd, odd, async (symbol, name) => {
        const data = { network: 'base', symbol, name }
        const event: AnyEvent = { id: 'evt_1', type: 'x', created_at: '', data }
        await to.deliver(items(event, text(`.${symbol}`)))
        expect(to.fake.rejected).toEqual([])
        expect(to.fake.accepted.flatMap(({ links }) => links)).toEqual([])
      }),
      { numRuns: counts.chatRuns, examples },
    )
  })

  test('joins a burst into few messages, in order, at the pace of the service', async () => {
    await using to = await stage()
    const batch = numbered(14)
    expect(await to.send(items(...batch).toReversed())).toBeUndefined()
    expect(to.fake.shown).toEqual([batch.map(({ payload }) => payload.text).join('\n')])
    for (let n = 1; n < atOnce; n++) expect(await to.send(items(text('more')))).toBeUndefined()
    expect(to.pauses).toEqual([gapMs])
    expect(to.sleeps).toEqual([])
  })
})

describe('a chat sink', () => {
  test('sends nothing twice after a failure within a digest or a long text', async () => {
    await using to = await start('slack')
    const batch = items(
      ...Array.from('abcdefghijkl', (name) => text(`${name}${'-'.repeat(name === 'f' ? 6_000 : 2_400)}`)),
    )
    // Every second request fails.
    const { answer } = to.fake.server
    let requests = 0
    to.fake.server.answer = (request) => (++requests % 2 === 0 ? { status: 503, body: 'later' } : answer(request))
    const errors = await to.deliver(batch)
    expect(errors.length).toBeGreaterThan(0)
    expect(to.fake.shown.join('').replaceAll(/[-\n]/g, '')).toBe('abcdefghijkl')
    expect(to.fake.shown.join('').match(/-/g)).toHaveLength(11 * 2_400 + 6_000)
    expect(to.fake.rejected).toEqual([])
    expect(new Set(to.sleeps)).toEqual(new Set([1_000]))
  })

  test('replaces a rejected message and sends the others once', async () => {
    await using to = await start('slack')
    to.fake.dislikes = ({ shown }) => shown.includes('poison')
    await to.deliver(items(text('one'), text('poison <x>'), text('three')))
    expect(to.fake.shown).toEqual(['one', 'An event could not be shown: x, evt_p', 'three'])
    expect(to.lines).toMatchObject([{ level: 'warn', message: 'chat service rejected message' }])
  })

  test('replaces an invalid payload by an explanation', async () => {
    await using to = await start('slack')
    expect(await to.send(items({ payload: { text: ' \n' } }, text('fine')))).toBeUndefined()
    expect(to.fake.shown.join()).toMatch(/takes \{ text: '…' \}[^]*fine/)
    expect(to.lines).toMatchObject([{ level: 'error' }])
  })

  test('stops after a few rejections if the service rejects everything', async () => {
    await using to = await start('slack')
    to.fake.dislikes = () => true
    const error = await to.send(items(...numbered(14)))
    expect(error).toBeInstanceOf(Error)
    expect(error).not.toBeInstanceOf(TerminalError)
    expect(to.fake.rejected.length).toBeLessThanOrEqual(3)
  })
})

const toTelegram = (options: object = {}) => start('telegram', { chatId: -42, ...options })

test('slack: each item is a block, without previews, and repeated as text', async () => {
  await using to = await start('slack')
  await to.say('a & b', 'c\nd')
  expect(to.fake.accepted.map(({ body }) => body)).toEqual([
    {
      text: 'a &amp; b\nc\nd',
      blocks: [
        { type: 'section', text: { type: 'mrkdwn', text: 'a &amp; b', verbatim: true } },
        { type: 'section', text: { type: 'mrkdwn', text: 'c\nd', verbatim: true } },
      ],
      unfurl_links: false,
      unfurl_media: false,
    },
  ])
})

test('discord: allows no mentions or previews, waits for the result, keeps the thread', async () => {
  await using to = await start('discord')
  await to.say('@everyone look')
  expect(to.fake.accepted.map(({ body }) => body)).toEqual([
    { content: '\\@everyone look', allowed_mentions: { parse: [] }, flags: 4 },
  ])
  expect(to.fake.server.requests[0]?.path).toBe(`${discordRules.path}?thread_id=77&wait=true`)
})

test.each([
  ['the fraction of a second in retry_after', { tooMany: 0.35 }, 350],
  ['Retry-After of Cloudflare', { status: 429, headers: { 'Retry-After': '12' }, body: '<html>error 1015' }, 12_000],
] as const)('discord: waits for %s', async (_, answer, retryAfterMs) => {
  await using to = await start('discord')
  to.fake.next.push(answer)
  expect(await to.say('a')).toMatchObject({ retryAfterMs })
  expect(to.pauses).toEqual([retryAfterMs])
})

test('discord: waits after the last allowed message, as the headers say', async () => {
  await using to = await start('discord')
  to.fake.headers = { 'X-RateLimit-Remaining': '1', 'X-RateLimit-Reset-After': '9' }
  expect(await to.say('a')).toBeUndefined()
  expect(to.pauses).toEqual([])
  to.fake.headers = { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset-After': '1.5' }
  expect(await to.say('b')).toBeUndefined()
  expect(to.pauses).toEqual([1_500])
})

test('telegram: writes to a chat and topic, without preview or sound', async () => {
  await using to = await toTelegram({ threadId: 7, silent: true })
  await to.say('a < b')
  expect(to.fake.accepted.map(({ body }) => body)).toEqual([
    {
      chat_id: '-42',
      text: 'a &lt; b',
      parse_mode: 'HTML',
      link_preview_options: { is_disabled: true },
      message_thread_id: 7,
      disable_notification: true,
    },
  ])
})

test('telegram: sends a group at most 20 messages a minute', async () => {
  await using to = await toTelegram()
  for (let n = 1; n < 20; n++) {
    expect(await to.say(`message ${n}`)).toBeUndefined()
    to.pass(to.pauses.splice(0).at(-1) ?? 0)
  }
  await to.say('message 20')
  expect(to.pauses).toEqual([41_000])
  expect(to.fake.shown).toHaveLength(20)
  // It neither sends too early nor sleeps that long.
  expect(await to.say('message 21')).toMatchObject({ retryAfterMs: 41_000 })
  expect(to.sleeps).toEqual([])
  expect(to.fake.shown).toHaveLength(20)
})

test('telegram: splits by the length of the shown text', async () => {
  await using to = await toTelegram({ chatId: '@channel' })
  await to.say('&'.repeat(4_096))
  expect(to.fake.shown).toEqual(['&'.repeat(4_096)])
})

test('R103 telegram: defuses domain names and mentions in an event', async () => {
  await using to = await toTelegram({ templates: { '*': '{data.name}' } })
  for (const [name, shown] of [
    ['CLAIM at evil.example', 'CLAIM at evil[.]example'],
    ['https://t.me/x', 'https[:]//t[.]me/x'],
    ['злой.рф', 'злой[.]рф'],
    ['@admin /start 0.5 a/b me@x', '@\u2060admin /\u2060start 0.5 a/b me@x'],
  ]) {
    await to.send(items({ id: 'evt_1', type: 'x', created_at: '', data: { name } }))
    expect(to.fake.shown.at(-1)).toBe(shown)
    to.pass(1_000)
  }
})
