import type { SinkDefinition } from 'onchain-inbox'
import { z } from 'zod'
import type { Dialect } from './common/chat-text.ts'
import { createChatSink, type Timing } from './common/chat.ts'
import { waitIn } from './common/http.ts'
import { shownOption, secretBaseUrl, type SinkKind, type SinkSetup } from './common/kind.ts'
import { templates } from './common/template.ts'

const options = z.strictObject({
  token: z.string().regex(/^\d{1,20}:[\w-]{20,100}$/, {
    error: 'expected the token that BotFather gives, such as 123456789:AA…',
  }),
  /** A person, a group (negative), or the name of a public channel. */
  chatId: z
    .union([z.int().transform(String), z.string()])
    .pipe(z.string().regex(/^(?:-?\d{1,20}|@\w{3,64})$/, { error: 'expected a number or @channel' })),
  /** Forum topic. */
  threadId: z.int().min(1).optional(),
  /** True: delivered without a sound. */
  silent: z.boolean().default(false),
  templates: templates.optional(),
  baseUrl: secretBaseUrl.default('https://api.telegram.org'),
})

type Options = z.output<typeof options>

/** Writes to a Telegram chat as a bot. */
export default {
  options,
  example: "{ kind: 'telegram', token: { env: 'TOKEN' }, chatId: -1001234567890 }",
  target: ({ chatId }) => shownOption(chatId),
  create,
} satisfies SinkKind<typeof options>

/** HTML. A message holds 4,096 shown characters and 100 entities; a link is an entity. */
const dialect: Dialect = {
  entryLimit: 4_096,
  messageLimit: 4_096,
  entriesPerMessage: 100,
  linksPerMessage: 100,
  escape: (character) => htmlEscapes[character] ?? character,
  link: (label, url) => `<a href="${url}">${label}</a>`,
  defuse,
  sizeOf: (shown) => shown.length,
}

const htmlEscapes: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Telegram links every domain name, mention and command, and has no escape: `evil.com` becomes `evil[.]com`. */
function defuse(text: string): string {
  return text
    .replaceAll('://', '[:]//')
    .replaceAll(/(?<=[\p{L}\p{N}_-])[.\u3002\uff0e\uff61](?=\p{L})/gu, '[.]')
    .replaceAll(/(?<!\w)@(?=\w)|(?<=^|\s)\/(?=\w)/g, (sign) => `${sign}\u2060`)
}

/** Telegram accepts one message per second, and 20 per minute in a group or channel. */
function create({ name, options }: SinkSetup<Options>, _tools?: unknown, timing?: Timing): Readonly<SinkDefinition> {
  const { token, chatId, threadId, silent, templates, baseUrl } = options
  const isGroup = /^[-@]/.test(chatId)
  return createChatSink(
    {
      service: 'Telegram',
      url: `${baseUrl}/bot${token}/sendMessage`,
      secrets: [token],
      dialect,
      limits: [{ count: 1, ms: 1_000 }, ...(isGroup ? [{ count: 20, ms: 60_000 }] : [])],
      batch: 14,
      toBody: (texts) => ({
        chat_id: chatId,
        text: texts.join('\n'),
        parse_mode: 'HTML',
        link_preview_options: { is_disabled: true },
        ...(threadId !== undefined && { message_thread_id: threadId }),
        ...(silent && { disable_notification: true }),
      }),
      waitOf: (response) => (response.status === 429 ? waitIn(response, 'parameters', 'retry_after') : undefined),
    },
    { name, templates },
    timing,
  )
}
