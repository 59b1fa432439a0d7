import { expect, test } from 'vitest'
import telegramKind from '../../handlers/sinks/telegram.ts'
import { botToken, telegramRules } from '../support/fake-chat-rules.ts'
import { FakeChat, items, sendingStage } from '../support/fake-chat.ts'

async function stage(given: object = {}) {
  const fake = await FakeChat.start(telegramRules)
  const to = sendingStage()
  const options = telegramKind.options.parse({ token: botToken, chatId: -42, baseUrl: fake.origin, ...given })
  const sink = telegramKind.create({ name: 'chat', options }, undefined, to.timing)
  return {
    ...to,
    fake,
    send: (...texts: string[]) => to.send(sink, items(...texts.map((text) => ({ payload: { text } })))),
    show: (data: Record<string, unknown>) => to.send(sink, items({ id: 'evt_1', type: 'x', created_at: '', data })),
    [Symbol.asyncDispose]: () => fake[Symbol.asyncDispose](),
  }
}

test('the sink telegram writes to a chat and topic, without preview or sound', async () => {
  await using to = await stage({ threadId: 7, silent: true })
  await to.send('a < b')
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

test('the sink telegram sends a group 20 messages a minute at most, one a second', async () => {
  await using to = await stage()
  for (let n = 1; n < 20; n++) {
    expect(await to.send(`message ${n}`)).toBeUndefined()
    to.pass(to.pauses.splice(0).at(-1) ?? 0)
  }
  await to.send('message 20')
  expect(to.pauses).toEqual([41_000])
  expect(to.fake.shown).toHaveLength(20)
  // Not even if it is called too early; and it does not sleep for that long.
  expect(await to.send('message 21')).toMatchObject({ retryAfterMs: 41_000 })
  expect(to.sleeps).toEqual([])
  expect(to.fake.shown).toHaveLength(20)
})

test('the sink telegram splits by what is shown, not by what is written, and counts links', async () => {
  await using to = await stage({ chatId: '@channel', templates: { '*': '{links}' } })
  await to.send('&'.repeat(4_096))
  expect(to.fake.shown).toEqual(['&'.repeat(4_096)])
})

test('R103 makes no link of what looks like a name of the web in an event, and calls nobody', async () => {
  await using to = await stage({ templates: { '*': '{data.name}' } })
  for (const [name, shown] of [
    ['CLAIM at evil.example', 'CLAIM at evil[.]example'],
    ['https://t.me/x', 'https[:]//t[.]me/x'],
    ['злой.рф', 'злой[.]рф'],
    ['@admin /start 0.5 a/b me@x', '@\u2060admin /\u2060start 0.5 a/b me@x'],
  ]) {
    // The joiner is put in behind the event's own text was made safe.
    await to.show({ name })
    expect(to.fake.shown.at(-1)).toBe(shown)
    to.pass(1_000)
  }
})

test('the sink telegram follows a group that has become another, and says so', async () => {
  await using to = await stage()
  const moved = { ok: false, error_code: 400, description: 'x', parameters: { migrate_to_chat_id: -100_42 } }
  to.fake.next.push({ status: 400, body: JSON.stringify(moved) })
  expect(await to.send('a')).toBeUndefined()
  to.pass(1_000)
  await to.send('b')
  expect(to.fake.accepted.map(({ body }) => body.chat_id)).toEqual(['-10042', '-10042'])
  expect(to.lines).toMatchObject([{ level: 'warn', fields: { chatId: '-10042' } }])
})
