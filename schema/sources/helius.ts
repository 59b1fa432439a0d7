import { z } from 'zod'

const text = z.string()
const account = text.nullable()

const transaction = z.looseObject({
  /** `TRANSFER`, `SWAP`, `NFT_SALE`, …: an open set. */
  type: text,
  description: text,
  source: text,
  signature: text,
  slot: z.number(),
  /** Seconds since 1970. */
  timestamp: z.number(),
  /** Lamports. */
  fee: z.number(),
  feePayer: text,
  nativeTransfers: z
    .array(z.looseObject({ fromUserAccount: account, toUserAccount: account, amount: z.number() }))
    .nullish(),
  tokenTransfers: z
    .array(z.looseObject({ fromUserAccount: account, toUserAccount: account, mint: text, tokenAmount: z.number() }))
    .nullish(),
  accountData: z.array(z.looseObject({ account: text, nativeBalanceChange: z.number() })),
})

/** Enhanced webhooks: https://www.helius.dev/docs/webhooks. Raw ones send transactions as Solana's RPC does. */
export const helius = { '*': z.array(transaction) }
