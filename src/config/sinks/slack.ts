import { z } from 'zod'
import { secretUrl } from './secret-url.ts'
import { templates } from './templates.ts'

/** Events become messages of a Slack channel. */
export const slackOptions = z.strictObject({
  /** That of an incoming webhook. Whoever knows it can post: it is a secret. */
  url: secretUrl,
  templates: templates.optional(),
})

export type SlackOptions = z.output<typeof slackOptions>
