import { z } from 'zod'

const text = z.string()

const walletActivity = <T extends string>(type: T) =>
  z.looseObject({
    eventId: text,
    eventType: z.literal(type),
    timestamp: text,
    data: z.looseObject({
      network: text,
      transactionHash: text,
      blockNumber: text.optional(),
      blockTimestamp: text.optional(),
      logIndex: text.optional(),
      contractAddress: text.optional(),
      eventName: text.optional(),
    }),
  })

const walletTransaction = z.looseObject({
  network: text,
  /** Absent on Solana. */
  address: text.optional(),
  /** Absent before the transaction is broadcast, and on Solana, where `transaction_signature` has it. */
  transaction_hash: text.optional(),
  transaction_signature: text.optional(),
})

/** https://docs.cdp.coinbase.com/webhooks/overview and the types of the npm package @coinbase/cdp-sdk. */
export const coinbaseCdp = {
  '*': z.looseObject({}),
  'onchain.activity.detected': z.looseObject({
    network: text,
    block_number: z.number(),
    timestamp: text,
    transaction_hash: text,
    transaction_from: text,
    transaction_to: text,
    contract_address: text,
    log_index: z.number(),
    event_name: text,
    event_signature: text,
    /** By name, as in the event's signature. */
    parameters: z.record(text, text),
  }),
  'wallet.activity.detected': walletActivity('wallet.activity.detected'),
  'wallet.activity.multi': walletActivity('wallet.activity.multi'),
  'wallet.transaction.created': walletTransaction,
  'wallet.transaction.broadcast': walletTransaction,
  'wallet.transaction.confirmed': walletTransaction,
}
