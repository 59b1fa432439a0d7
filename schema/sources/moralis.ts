import { z } from 'zod'

const text = z.string()
const log = { transactionHash: text, logIndex: text }
const token = { contract: text, tokenName: text, tokenSymbol: text }

/** https://docs.moralis.com/streams/webhooks/webhook-payloads and the npm package @moralisweb3/streams-typings. */
export const moralis = {
  '*': z.looseObject({
    /** False, then true in a second delivery once the block is final. */
    confirmed: z.boolean(),
    chainId: text,
    streamId: text,
    tag: text,
    retries: z.number(),
    block: z.looseObject({ number: text, hash: text, timestamp: text }),
    logs: z.array(z.looseObject({ ...log, address: text, data: text, topic0: text.nullable() })),
    txs: z.array(z.looseObject({ hash: text, fromAddress: text, toAddress: text.nullable(), value: text.nullable() })),
    txsInternal: z.array(
      z.looseObject({ transactionHash: text, from: text.nullable(), to: text.nullable(), value: text.nullable() }),
    ),
    erc20Transfers: z.array(
      z.looseObject({ ...log, ...token, from: text, to: text, value: text, tokenDecimals: text }),
    ),
    erc20Approvals: z.array(
      z.looseObject({ ...log, ...token, owner: text, spender: text, value: text, tokenDecimals: text }),
    ),
    nftTransfers: z.array(
      z.looseObject({ ...log, ...token, from: text, to: text, tokenId: text, amount: text, tokenContractType: text }),
    ),
  }),
}
