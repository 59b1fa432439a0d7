import { expect, test } from 'vitest'
import discordKind from '../../handlers/sinks/discord.ts'
import { discordRules } from '../support/fake-chat-rules.ts'
import { FakeChat, items, sendingStage } from '../support/fake-chat.ts'

async function stage(query = '') {
  const fake = await FakeChat.start(discordRules)
  const to = sendingStage()
  const options = discordKind.options.parse({ url: `${fake.url}${query}` })
  const sink = discordKind.create({ name: 'chat', options }, undefined, to.timing)
  return {
    ...to,
    fake,
    send: (text: string) => to.send(sink, items({ payload: { text } })),
    [Symbol.asyncDispose]: () => fake[Symbol.asyncDispose](),
  }
}

test('the sink discord calls nobody, previews nothing, and asks whether the message was kept; a thread stays one', async () => {
  await using to = await stage('?thread_id=77')
  await to.send('@everyone look')
  expect(to.fake.accepted.map(({ body }) => body)).toEqual([
    { content: '\\@everyone look', allowed_mentions: { parse: [] }, flags: 4 },
  ])
  expect(to.fake.server.requests[0]?.path).toBe(`${discordRules.path}?thread_id=77&wait=true`)
})

test('the sink discord waits for the fraction of a second that retry_after says', async () => {
  await using to = await stage()
  to.fake.next.push({ tooMany: 0.35 })
  expect(await to.send('a')).toMatchObject({ retryAfterMs: 350 })
  expect(to.pauses).toEqual([350])
})

test('the sink discord waits when the headers say that the last message allowed was sent', async () => {
  await using to = await stage()
  to.fake.headers = { 'X-RateLimit-Remaining': '1', 'X-RateLimit-Reset-After': '9' }
  expect(await to.send('a')).toBeUndefined()
  expect(to.pauses).toEqual([])
  to.fake.headers = { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset-After': '1.5' }
  expect(await to.send('b')).toBeUndefined()
  expect(to.pauses).toEqual([1_500])
})

test('the sink discord takes Retry-After where Cloudflare answers in its stead', async () => {
  await using to = await stage()
  to.fake.next.push({ status: 429, headers: { 'Retry-After': '12' }, body: '<html>error 1015</html>' })
  expect(await to.send('a')).toMatchObject({ retryAfterMs: 12_000 })
})
