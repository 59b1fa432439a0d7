import type { SinkDefinition } from 'onchain-inbox'
import { z } from 'zod'
import { createChatSink, type Timing } from './common/chat.ts'
import { readRetryAfter, type Answer, hider, memberOf, postJson, secretsOf } from './common/http.ts'
import { place, secretUrl, type SinkKind, type SinkSetup } from './common/kind.ts'
import type { Dialect } from './common/split.ts'
import { templateExample, templates } from './common/template.ts'

/** Events become messages of a Discord channel. */
const options = z.strictObject({
  /** That of a webhook of the channel. Whoever knows it can post: it is a secret. */
  url: secretUrl,
  templates: templates.optional(),
})

type Options = z.output<typeof options>

export default {
  options,
  target: ({ url }) => place(url),
  examples: { url: ['a URL', "'https://discord.com/api/webhooks/…'"], templates: templateExample },
  create,
} satisfies SinkKind<typeof options>

/** Every sign that Discord might read as something else is escaped: `:` too, so that no address of the web becomes a link. */
const dialect: Dialect = {
  partLimit: 2_000,
  limit: 2_000,
  partsPerMessage: 50,
  linksPerMessage: 100,
  escape: (character) => (/[\\*_~`|>[\]()<@#:+-]/.test(character) ? `\\${character}` : character),
  link: (label, url) => `[${label}](<${url}>)`,
}

const suppressEmbeds = 4

/** Writes to a Discord channel by a webhook: five messages in two seconds, and at what pace its answers say. */
function create({ name, options }: SinkSetup<Options>, _tools?: unknown, timing?: Timing): Readonly<SinkDefinition> {
  const hide = hider(secretsOf(options.url))
  const url = new URL(options.url)
  // Otherwise Discord answers before it knows whether the message can be kept.
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

/** `retry_after` of a refusal is in seconds and finer than the header; after the last message allowed the headers say how long. */
function waitOf(answer: Answer): number | undefined {
  if (answer.status === 429) {
    const seconds = memberOf(answer, 'retry_after')
    return typeof seconds === 'number' && seconds > 0 ? Math.ceil(seconds * 1_000) : readRetryAfter(answer.headers)
  }
  if (answer.headers.get('X-RateLimit-Remaining') !== '0') return undefined
  const seconds = Number(answer.headers.get('X-RateLimit-Reset-After'))
  return seconds > 0 ? Math.ceil(seconds * 1_000) : undefined
}
