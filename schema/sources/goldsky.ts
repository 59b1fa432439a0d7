import { z } from 'zod'

/** The columns of the user's entity, with `id`, `vid` and `block_range`. */
const row = z.looseObject({}).nullable()

/** https://docs.goldsky.com/subgraphs/webhooks */
export const goldsky = {
  '*': z.looseObject({
    id: z.string(),
    op: z.enum(['INSERT', 'UPDATE', 'DELETE']),
    data_source: z.string(),
    entity: z.string(),
    webhook_id: z.string(),
    webhook_name: z.string(),
    data: z.looseObject({ old: row, new: row }),
    delivery_info: z.looseObject({ max_retries: z.number(), current_retry: z.number() }),
  }),
}
