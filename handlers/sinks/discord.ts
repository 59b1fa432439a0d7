import type { SinkDefinition } from 'onchain-inbox'
import { createChatSink, webhookOptions, type Timing, type WebhookOptions } from './common/chat.ts'
import { readRetryAfter, type Answer, hider, memberOf, postJson, secretsOf } from './common/http.ts'
import { place, type SinkKind, type SinkSetup } from './common/kind.ts'
import type { Dialect } from './common/split.ts'

/** Writes to a Discord channel through a webhook. */
export default {
  options: webhookOptions,
  example: "{ kind: 'discord', url: 'https://discord.com/api/webhooks/…' }",
  target: ({ url }) => place(url),
  create,
} satisfies SinkKind<typeof webhookOptions>

/** Escapes all characters of Discord's markup, and `:`, so that no URL becomes a link. */
const dialect: Dialect = {
  partLimit: 2_000,
  limit: 2_000,
  partsPerMessage: 50,
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
  const hide = hider(secretsOf(options.url))
  const url = new URL(options.url)
  // With `wait`, Discord validates the message before it responds.
  url.searchParams.set('wait', 'true')
  return createChatSink(
    {
      who: 'Discord',
      dialect,
      limits: [{ count: 5, ms: 2_000 }],
      post: (parts, { signal }) => postJson({ url: url.href, body: toBody(parts), signal, who: 'Discord', hide }),
      waitOf,
    },
    { name, templates: options.templates, batch: 16 },
    timing,
  )
}

function toBody(parts: readonly string[]): unknown {
  return { content: parts.join('\n'), allowed_mentions: { parse: [] }, flags: suppressEmbeds }
}

/**
 * Milliseconds to wait before the next message; undefined: no wait. A 429 has `retry_after`, which is more precise than
 * the header `Retry-After`. The response to the last allowed message has the wait in its headers.
 */
function waitOf(answer: Answer): number | undefined {
  if (answer.status === 429) {
    const seconds = memberOf(answer, 'retry_after')
    return typeof seconds === 'number' && seconds > 0 ? Math.ceil(seconds * 1_000) : readRetryAfter(answer.headers)
  }
  if (answer.headers.get('X-RateLimit-Remaining') !== '0') return undefined
  const seconds = Number(answer.headers.get('X-RateLimit-Reset-After'))
  return seconds > 0 ? Math.ceil(seconds * 1_000) : undefined
}
