import { z } from 'zod'

const text = z.string()

const notification = z.looseObject({
  id: text,
  resourceId: text.nullish(),
  workspaceId: text,
  eventType: text,
  /** Milliseconds since 1970. */
  createdAt: z.number(),
  data: z.looseObject({}),
})

const transaction = z.looseObject({
  id: text,
  status: text,
  subStatus: text.optional(),
  assetId: text,
  operation: text.optional(),
  txHash: text.optional(),
  sourceAddress: text.optional(),
  destinationAddress: text.optional(),
  amountInfo: z.looseObject({ amount: text.optional(), amountUSD: text.optional() }).optional(),
  createdAt: z.number(),
  lastUpdated: z.number(),
})

const ofTransaction = <T extends string>(type: T) =>
  notification.extend({ eventType: z.literal(type), data: transaction })

/** https://developers.fireblocks.com/reference/webhook-notification-structure */
export const fireblocks = {
  '*': notification,
  'transaction.created': ofTransaction('transaction.created'),
  'transaction.status.updated': ofTransaction('transaction.status.updated'),
  'vault_account.asset.added': notification.extend({
    eventType: z.literal('vault_account.asset.added'),
    data: z.looseObject({ accountId: text, accountName: text, assetId: text }),
  }),
}
