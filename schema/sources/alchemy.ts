import { z } from 'zod'

const text = z.string()
const event = z.looseObject({ webhookId: text, id: text, createdAt: text, type: text, event: z.unknown() })

const typed = <T extends string, D extends z.ZodType>(type: T, data: D) =>
  event.extend({ type: z.literal(type), event: data })

const log = z.looseObject({
  address: text,
  topics: z.array(text),
  data: text,
  blockNumber: text,
  transactionHash: text,
  transactionIndex: text,
  blockHash: text,
  logIndex: text,
  /** True after a reorg: the log is no longer part of the chain. */
  removed: z.boolean(),
})
const transfer = z.looseObject({ blockNum: text, hash: text, fromAddress: text, toAddress: text, category: text })
const token = {
  erc721TokenId: text.nullish(),
  erc1155Metadata: z.array(z.looseObject({ tokenId: text, value: text })).nullish(),
}
const activity = transfer.extend({
  ...token,
  /** In units of the asset, rounded to a JSON number. `rawContract.rawValue` is exact. */
  value: z.number().nullish(),
  asset: text.nullish(),
  rawContract: z.looseObject({ rawValue: text, address: text.nullish(), decimals: z.number().nullish() }),
  typeTraceAddress: text.nullish(),
  log: log.nullish(),
})
const nftActivity = transfer.extend({ ...token, contractAddress: text, log })

const transaction = z.looseObject({ hash: text, from: text, to: text.nullish(), value: text, input: text, nonce: text })
const mined = transaction.extend({ blockHash: text, blockNumber: text, transactionIndex: text })
const ofTransaction = <T extends z.ZodType>(schema: T) =>
  z.looseObject({ appId: text, network: text, transaction: schema })

/** https://www.alchemy.com/docs/reference/webhook-types */
export const alchemy = {
  '*': event,
  ADDRESS_ACTIVITY: typed('ADDRESS_ACTIVITY', z.looseObject({ network: text, activity: z.array(activity) })),
  NFT_ACTIVITY: typed('NFT_ACTIVITY', z.looseObject({ network: text, activity: z.array(nftActivity) })),
  MINED_TRANSACTION: typed('MINED_TRANSACTION', ofTransaction(mined)),
  DROPPED_TRANSACTION: typed('DROPPED_TRANSACTION', ofTransaction(transaction)),
  // The user's query chooses the fields of the block.
  GRAPHQL: typed('GRAPHQL', z.looseObject({ data: z.looseObject({ block: z.unknown() }) })),
}
