import { z } from 'zod'

const text = z.string()

const notification = z.looseObject({
  subscriptionId: text,
  notificationId: text,
  notificationType: text,
  notification: z.looseObject({}),
  timestamp: text,
  version: z.number(),
})

const transaction = z.looseObject({
  id: text,
  blockchain: text,
  /** `CONFIRMED`, `COMPLETE`, `FAILED`, …: an open set. */
  state: text,
  createDate: text,
  updateDate: text,
  txHash: text.optional(),
  walletId: text.optional(),
  tokenId: text.optional(),
  sourceAddress: text.optional(),
  destinationAddress: text.optional(),
  amounts: z.array(text).optional(),
})

const ofTransaction = <T extends string>(type: T) =>
  notification.extend({ notificationType: z.literal(type), notification: transaction })

/** https://developers.circle.com/api-reference/webhooks */
export const circle = {
  '*': notification,
  'transactions.inbound': ofTransaction('transactions.inbound'),
  'transactions.outbound': ofTransaction('transactions.outbound'),
}
