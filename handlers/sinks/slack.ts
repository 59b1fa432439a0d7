import type { SinkDefinition } from 'onchain-inbox'
import type { Dialect } from './common/chat-text.ts'
import { createChatSink, webhookOptions, type Timing, type WebhookOptions } from './common/chat.ts'
import { secretsOf } from './common/http.ts'
import { shownOption, type SinkKind, type SinkSetup } from './common/kind.ts'

/** Writes to a Slack channel by an incoming webhook. */
export default {
  options: webhookOptions,
  example: "{ kind: 'slack', url: 'https://hooks.slack.com/services/…' }",
  target: ({ url }) => shownOption(url),
  create,
} satisfies SinkKind<typeof webhookOptions>

/** A block holds 3,000 characters, escapes included. */
const dialect: Dialect = {
  entryLimit: 3_000,
  messageLimit: 12_000,
  entriesPerMessage: 20,
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
  const limits = [{ count: 1, ms: 1_000 }]
  return createChatSink(
    { service: 'Slack', url, secrets: secretsOf(url), dialect, limits, batch: 16, toBody },
    { name, templates },
    timing,
  )
}

/** `text` is shown in notifications. `verbatim`: Slack adds no links. */
function toBody(texts: readonly string[]): object {
  return {
    text: texts.join('\n'),
    blocks: texts.map((text) => ({ type: 'section', text: { type: 'mrkdwn', text, verbatim: true } })),
    unfurl_links: false,
    unfurl_media: false,
  }
}
