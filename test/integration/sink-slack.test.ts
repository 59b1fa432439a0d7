import { expect, test } from 'vitest'
import slackKind from '../../handlers/sinks/slack.ts'
import { slackRules } from '../support/fake-chat-rules.ts'
import { FakeChat, items, sendingStage } from '../support/fake-chat.ts'

test('the sink slack puts each item into a block, previews nothing, and repeats all of it as text', async () => {
  await using fake = await FakeChat.start(slackRules)
  const to = sendingStage()
  const sink = slackKind.create(
    { name: 'chat', options: slackKind.options.parse({ url: fake.url }) },
    undefined,
    to.timing,
  )
  await to.send(sink, items({ payload: { text: 'a & b' } }, { payload: { text: 'c\nd' } }))
  expect(fake.accepted.map(({ body }) => body)).toEqual([
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
