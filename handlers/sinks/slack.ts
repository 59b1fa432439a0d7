import type { SinkDefinition } from 'onchain-inbox'
import { z } from 'zod'
import { createChatSink, type Timing } from './common/chat.ts'
import { place, secretUrl, type SinkKind, type SinkSetup } from './common/kind.ts'
import { hider, postJson, secretsOf } from './common/http.ts'
import type { Dialect } from './common/split.ts'
import { templateExample, templates } from './common/template.ts'

/** Events become messages of a Slack channel. */
const options = z.strictObject({
  /** That of an incoming webhook. Whoever knows it can post: it is a secret. */
  url: secretUrl,
  templates: templates.optional(),
})

type Options = z.output<typeof options>

export default {
  options,
  target: ({ url }) => place(url),
  examples: { url: ['a URL', "'https://hooks.slack.com/services/…'"], templates: templateExample },
  create,
} satisfies SinkKind<typeof options>

/** A block of text holds 3,000 characters as they are written; a message, of which there is one a second, several blocks. */
const dialect: Dialect = {
  partLimit: 3_000,
  limit: 12_000,
  partsPerMessage: 20,
  linksPerMessage: 200,
  // Slack knows no escape for * _ ~ and `: text can come out bold by them, and nothing worse.
  escape: (character) => slackEscapes[character] ?? character,
  link: (label, url) => `<${url}|${label}>`,
}

const slackEscapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

/** Writes to a Slack channel by an incoming webhook, or to what takes the same: one message a second. */
function create(
  { name, options: { url, templates } }: SinkSetup<Options>,
  _tools?: unknown,
  timing?: Timing,
): Readonly<SinkDefinition> {
  const hide = hider(secretsOf(url))
  return createChatSink(
    {
      who: 'Slack',
      dialect,
      limits: [{ count: 1, ms: 1_000 }],
      post: (parts, { signal }) => postJson({ url, body: toBody(parts), signal, who: 'Slack', hide }),
    },
    { name, templates, batch: 16 },
    timing,
  )
}

/** The text beside the blocks is for notifications, and for those that know no blocks. `verbatim`: only our own links are links. */
function toBody(parts: readonly string[]): unknown {
  return {
    text: parts.join('\n'),
    blocks: parts.map((text) => ({ type: 'section', text: { type: 'mrkdwn', text, verbatim: true } })),
    unfurl_links: false,
    unfurl_media: false,
  }
}
