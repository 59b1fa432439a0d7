import { expect, test } from 'vitest'
import slackKind from '../../handlers/sinks/slack.ts'
import { slackRules } from '../support/fake-chat-rules.ts'
import { FakeChat, items, sendingStage } from '../support/fake-chat.ts'

const url = 'https://hooks.slack.com/services/T0/B0/x'

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

test.each([
  ['http://hooks.slack.com/services/x'],
  ['https://user:password@hooks.slack.com/services/x'],
  ['hooks.slack.com/services/x'],
  [''],
])('the URL %j is a problem of the configuration, and is not shown', (bad) => {
  const { error } = slackKind.options.safeParse({ url: bad })
  expect(error?.issues[0]?.message).toBe(
    'expected an https URL without user name and password (http only for this machine)',
  )
  expect(slackKind.options.safeParse({ url, template: {} }).success).toBe(false)
  expect(slackKind.options.safeParse({ url }).success).toBe(true)
})
