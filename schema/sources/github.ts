import { z } from 'zod'

/** What most types share: https://docs.github.com/en/webhooks/webhook-events-and-payloads */
export const github = {
  '*': z.looseObject({
    /** Present if the type has several actions. */
    action: z.string().optional(),
    sender: z.looseObject({ login: z.string(), id: z.number() }).optional(),
    /** Absent in events of organizations. */
    repository: z.looseObject({ id: z.number(), full_name: z.string() }).optional(),
  }),
}
