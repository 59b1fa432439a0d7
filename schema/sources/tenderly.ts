import { z } from 'zod'

const text = z.string().optional()

/**
 * https://docs.tenderly.co/monitoring/alerts/destinations/project-scoped. Tenderly doesn't document the fields of the
 * transaction: these are the ones that public receivers read.
 */
export const tenderly = {
  '*': z.looseObject({
    id: z.string(),
    event_type: z.string(),
    transaction: z.looseObject({
      network: text,
      hash: text,
      block_hash: text,
      block_number: z.number().optional(),
      from: text,
      to: text,
      value: text,
      input: text,
      logs: z.array(z.looseObject({ address: z.string(), topics: z.array(z.string()), data: z.string() })).optional(),
    }),
  }),
}
