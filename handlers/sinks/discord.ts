import type { SinkDefinition } from 'onchain-inbox'
import type { Dialect } from './common/chat-text.ts'
import { createChatSink, webhookOptions, type Timing, type WebhookOptions } from './common/chat.ts'
import { readRetryAfter, secretsOf, waitIn, type HttpResponse } from './common/http.ts'
import { shownOption, type SinkKind, type SinkSetup } from './common/kind.ts'

/** Writes to a Discord channel through a webhook. */
export default {
  options: webhookOptions,
  example: "{ kind: 'discord', url: 'https://discord.com/api/webhooks/…' }",
  target: ({ url }) => shownOption(url),
  create,
} satisfies SinkKind<typeof webhookOptions>

/** Escapes all characters of Discord's markup, and `:`, so that no URL becomes a link. */
const dialect: Dialect = {
  entryLimit: 2_000,
  messageLimit: 2_000,
  entriesPerMessage: 50,
  linksPerMessage: 100,
  escape: (character) => (/[\\*_~`|>[\]()<@#:+-]/.test(character) ? `\\${character}` : character),
  link: (label, url) => `[${label}](<${url}>)`,
}

/** Message flag: no previews of links. */
const suppressEmbeds = 4

/** Discord accepts five messages in two seconds. Its responses may ask for a longer wait. */
function create(
  { name, options }: SinkSetup<WebhookOptions>,
  _tools?: unknown,
  timing?: Timing,
): Readonly<SinkDefinition> {
  const url = new URL(options.url)
  // With `wait`, Discord validates the message before it responds.
  url.searchParams.set('wait', 'true')
  return createChatSink(
    {
      service: 'Discord',
      url: url.href,
      secrets: secretsOf(options.url),
      dialect,
      limits: [{ count: 5, ms: 2_000 }],
      batch: 16,
      toBody: (texts) => ({ content: texts.join('\n'), allowed_mentions: { parse: [] }, flags: suppressEmbeds }),
      waitOf,
    },
    { name, templates: options.templates },
    timing,
  )
}

/** A 429 has `retry_after`, more precise than `Retry-After`. The response to the last allowed message has the wait in its headers. */
function waitOf(response: HttpResponse): number | undefined {
  if (response.status === 429) return waitIn(response, 'retry_after') ?? readRetryAfter(response.headers)
  if (response.headers.get('X-RateLimit-Remaining') !== '0') return undefined
  const seconds = Number(response.headers.get('X-RateLimit-Reset-After'))
  return seconds > 0 ? Math.ceil(seconds * 1_000) : undefined
}
