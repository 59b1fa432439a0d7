import { z } from 'zod'

/** https://www.quicknode.com/docs/streams/data-sources. A filter function of the user may send any other JSON. */
export const quicknode = {
  '*': z.looseObject({
    /** Depends on the dataset and the chain. */
    data: z.unknown(),
    metadata: z.looseObject({
      stream_id: z.string(),
      stream_name: z.string(),
      network: z.string(),
      dataset: z.string(),
      batch_start_range: z.number(),
      batch_end_range: z.number(),
      /** Numbers of blocks that are sent again after a reorg. */
      blocks_reorged: z.array(z.number()).nullish(),
    }),
  }),
}
