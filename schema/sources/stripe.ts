import { z } from 'zod'

/** https://docs.stripe.com/api/events/object */
export const stripe = {
  '*': z.looseObject({
    id: z.string(),
    object: z.literal('event'),
    type: z.string(),
    api_version: z.string().nullable(),
    /** Seconds since 1970. */
    created: z.number(),
    livemode: z.boolean(),
    data: z.looseObject({ object: z.looseObject({}) }),
  }),
}
