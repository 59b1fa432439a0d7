import type { SinkDefinition } from 'onchain-inbox'
import { createChatSink, webhookOptions, type Timing, type WebhookOptions } from './common/chat.ts'
import { place, type SinkKind, type SinkSetup } from './common/kind.ts'
import { hider, postJson, secretsOf } from './common/http.ts'
import type { Dialect } from './common/split.ts'

/** Writes to a Slack channel by an incoming webhook. */
export default {
  options: webhookOptions,
  example: "{ kind: 'slack', url: 'https://hooks.slack.com/services/…' }",
  target: ({ url }) => place(url),
  create,
} satisfies SinkKind<typeof webhookOptions>

/** A block holds 3,000 characters, escapes included. */
const dialect: Dialect = {
  partLimit: 3_000,
  limit: 12_000,
  partsPerMessage: 20,
  linksPerMessage: 200,
  // Slack has no escape for * _ ~ and `: they can only format text.
  escape: (character) => slackEscapes[character] ?? character,
  link: (label, url) => `<${url}|${label}>`,
}

const slackEscapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }

/** Slack accepts one message per second. */
function create(
  { name, options: { url, templates } }: SinkSetup<WebhookOptions>,
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

/** `text` is shown in notifications. `verbatim`: Slack adds no links. */
function toBody(parts: readonly string[]): unknown {
  return {
    text: parts.join('\n'),
    blocks: parts.map((text) => ({ type: 'section', text: { type: 'mrkdwn', text, verbatim: true } })),
    unfurl_links: false,
    unfurl_media: false,
  }
}
