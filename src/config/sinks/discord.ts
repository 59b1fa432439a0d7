import { z } from 'zod'
import { secretUrl } from './secret-url.ts'
import { templates } from './templates.ts'

/** Events become messages of a Discord channel. */
export const discordOptions = z.strictObject({
  /** That of a webhook of the channel. Whoever knows it can post: it is a secret. */
  url: secretUrl,
  templates: templates.optional(),
})

export type DiscordOptions = z.output<typeof discordOptions>
