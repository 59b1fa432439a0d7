import { z } from 'zod'
import { secretBaseUrl } from './secret-url.ts'
import { templates } from './templates.ts'

/** Events become messages of a Telegram chat. */
export const telegramOptions = z.strictObject({
  token: z.string().regex(/^\d{1,20}:[\w-]{20,100}$/, {
    error: 'expected the token that BotFather gives, such as 123456789:AA…',
  }),
  /** Of a person, of a group (negative), or the name of a public channel. */
  chatId: z
    .union([z.int().transform(String), z.string()])
    .pipe(z.string().regex(/^(?:-?\d{1,20}|@\w{3,64})$/, { error: 'expected a number or @channel' })),
  /** Of a forum topic. */
  threadId: z.int().min(1).optional(),
  /** Delivered without a sound. */
  silent: z.boolean().default(false),
  templates: templates.optional(),
  baseUrl: secretBaseUrl.default('https://api.telegram.org'),
})

export type TelegramOptions = z.output<typeof telegramOptions>
