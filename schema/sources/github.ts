import { z } from 'zod'

const text = z.string()
const event = z.looseObject({
  /** Present if the type has several actions. */
  action: text.optional(),
  sender: z.looseObject({ login: text, id: z.number() }).optional(),
  /** Absent in events of organizations. */
  repository: z.looseObject({ id: z.number(), full_name: text }).optional(),
})

/** https://docs.github.com/en/webhooks/webhook-events-and-payloads */
export const github = {
  '*': event,
  push: event.extend({
    ref: text,
    before: text,
    after: text,
    commits: z.array(z.looseObject({ id: text, message: text, timestamp: text })),
  }),
}
