import { z } from 'zod'

/** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md#payload-structure */
export const standardWebhooks = {
  '*': z.looseObject({ type: z.string(), timestamp: z.string().optional(), data: z.unknown() }),
}
