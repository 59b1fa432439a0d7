import type { ProviderName, SourceEvents } from '../../schema/index.ts'

/** Values that are new in each sample, so that two samples are two events. */
export interface Fresh {
  /** Type of the event. Undefined: not chosen, and the provider has no fixed types. */
  readonly type: string | undefined
  readonly time: Date
  readonly uuid: string
  /** 16 lower-case letters and digits. */
  readonly token: string
  /** EVM transaction. */
  readonly hash: string
  /** EVM block. */
  readonly blockHash: string
  /** Solana transaction. */
  readonly signature: string
}

/** Only the sender can sign deliveries of the others. */
export type ProviderWithSamples = Exclude<ProviderName, 'circle' | 'fireblocks'>

/** `*` is a body of any type: the sender or its user chooses the names. */
type SampleBodies = {
  readonly [P in ProviderWithSamples]: { readonly [T in keyof SourceEvents[P]]?: (fresh: Fresh) => SourceEvents[P][T] }
}

const from = '0x503828976d22510aad0201ac7ec88293211d23da'
const to = '0xbe3f4b43db5eb49d1f48f53443b9abce45da3b79'
const usdc = '0xa0b86991c6218b36c1d19d4a2e9eb0ce3606eb48'
const block = { number: 23_456_789, hex: '0x165ec15' }
const amount = '293092129'
const amountWord = `0x${BigInt(amount).toString(16).padStart(64, '0')}`
const topics = [
  '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
  `0x${from.slice(2).padStart(64, '0')}`,
  `0x${to.slice(2).padStart(64, '0')}`,
]
const secondsOf = (time: Date) => Math.floor(time.getTime() / 1_000)

const alchemyEvent = <T extends string, D>({ token, time }: Fresh, type: T, event: D) => ({
  webhookId: 'wh_k63lg72rxda78gce',
  id: `whevt_${token}`,
  createdAt: time.toISOString(),
  type,
  event,
})
const alchemyLog = ({ hash, blockHash }: Fresh) => ({
  address: usdc,
  topics,
  data: amountWord,
  blockNumber: block.hex,
  transactionHash: hash,
  transactionIndex: '0x46',
  blockHash,
  logIndex: '0x6e',
  removed: false,
})
const alchemyTransaction = ({ hash }: Fresh) => ({
  hash,
  from,
  to,
  value: '0xde0b6b3a7640000',
  input: '0x',
  nonce: '0x2f',
})

const cdpActivity = <T extends string>({ uuid, hash, time }: Fresh, type: T) => ({
  eventId: uuid,
  eventType: type,
  timestamp: time.toISOString(),
  data: {
    network: 'base-mainnet',
    transactionHash: hash,
    blockNumber: String(block.number),
    blockTimestamp: time.toISOString(),
    logIndex: '0',
    contractAddress: usdc,
    eventName: 'Transfer',
  },
})
const cdpTransaction = ({ time }: Fresh, at: string) => ({ network: 'base', address: from, [at]: time.toISOString() })

/** Realistic bodies by provider and type. The first type is the default. */
export const sampleBodies = {
  alchemy: {
    ADDRESS_ACTIVITY: (fresh) =>
      alchemyEvent(fresh, 'ADDRESS_ACTIVITY', {
        network: 'ETH_MAINNET',
        activity: [
          {
            blockNum: block.hex,
            hash: fresh.hash,
            fromAddress: from,
            toAddress: to,
            category: 'token',
            value: 293.092129,
            asset: 'USDC',
            erc721TokenId: null,
            erc1155Metadata: null,
            rawContract: { rawValue: amountWord, address: usdc, decimals: 6 },
            typeTraceAddress: null,
            log: alchemyLog(fresh),
          },
        ],
      }),
    NFT_ACTIVITY: (fresh) =>
      alchemyEvent(fresh, 'NFT_ACTIVITY', {
        network: 'ETH_MAINNET',
        activity: [
          {
            blockNum: block.hex,
            hash: fresh.hash,
            fromAddress: from,
            toAddress: to,
            category: 'erc721',
            erc721TokenId: '0x1eeb',
            contractAddress: '0xbc4ca0eda7647a8ab7c2061c2e118a18a936f13d',
            log: { ...alchemyLog(fresh), topics: [...topics, `0x${'1eeb'.padStart(64, '0')}`], data: '0x' },
          },
        ],
      }),
    MINED_TRANSACTION: (fresh) =>
      alchemyEvent(fresh, 'MINED_TRANSACTION', {
        appId: 'mm3cwq3q0jrg0uzs',
        network: 'ETH_MAINNET',
        transaction: {
          ...alchemyTransaction(fresh),
          blockHash: fresh.blockHash,
          blockNumber: block.hex,
          transactionIndex: '0x1d',
        },
      }),
    DROPPED_TRANSACTION: (fresh) =>
      alchemyEvent(fresh, 'DROPPED_TRANSACTION', {
        appId: 'mm3cwq3q0jrg0uzs',
        network: 'ETH_MAINNET',
        transaction: alchemyTransaction(fresh),
      }),
    GRAPHQL: (fresh) =>
      alchemyEvent(fresh, 'GRAPHQL', {
        data: { block: { hash: fresh.blockHash, number: block.number, logs: [{ topics, data: amountWord }] } },
      }),
  },
  quicknode: {
    '*': ({ hash, blockHash }) => ({
      data: [{ number: block.hex, hash: blockHash, transactions: [{ hash, from, to, value: '0x0' }] }],
      metadata: {
        stream_id: 'f6ad6459-b5ad-4183-b370-1c1388e47e83',
        stream_name: 'blocks',
        network: 'ethereum-mainnet',
        dataset: 'block',
        batch_start_range: block.number,
        batch_end_range: block.number,
        blocks_reorged: null,
      },
    }),
  },
  'quicknode-alerts': {
    '*': ({ hash, blockHash }) => [{ hash, blockHash, blockNumber: block.hex, from, to, value: '0x0' }],
  },
  helius: {
    '*': ({ type = 'TRANSFER', signature, time }) => [
      {
        type,
        description: '',
        source: 'SYSTEM_PROGRAM',
        signature,
        slot: 371_341_028,
        timestamp: secondsOf(time),
        fee: 5_000,
        feePayer: 'CKs1E69a2e9TmH4mKKLrXFF8kD3ZnwKjoEuXa6sz9WqX',
        nativeTransfers: [
          {
            fromUserAccount: 'CKs1E69a2e9TmH4mKKLrXFF8kD3ZnwKjoEuXa6sz9WqX',
            toUserAccount: 'AAaTGaA3uVqikfVEwoSG7EwkCb4bBDsMEyueiVUS5CaU',
            amount: 72_936_000_000,
          },
        ],
        tokenTransfers: [],
        accountData: [
          { account: 'CKs1E69a2e9TmH4mKKLrXFF8kD3ZnwKjoEuXa6sz9WqX', nativeBalanceChange: -72_936_005_000 },
          { account: 'AAaTGaA3uVqikfVEwoSG7EwkCb4bBDsMEyueiVUS5CaU', nativeBalanceChange: 72_936_000_000 },
        ],
      },
    ],
  },
  moralis: {
    '*': ({ type = 'usdc-transfers', hash, blockHash, time }) => ({
      confirmed: true,
      chainId: '0x1',
      streamId: 'c28d9e2e-ae9d-4fe6-9fc0-5fcde2dcdd17',
      tag: type,
      retries: 0,
      block: { number: String(block.number), hash: blockHash, timestamp: String(secondsOf(time)) },
      logs: [{ transactionHash: hash, logIndex: '110', address: usdc, data: amountWord, topic0: topics[0] ?? null }],
      txs: [],
      txsInternal: [],
      erc20Transfers: [
        {
          transactionHash: hash,
          logIndex: '110',
          contract: usdc,
          tokenName: 'USD Coin',
          tokenSymbol: 'USDC',
          tokenDecimals: '6',
          from,
          to,
          value: amount,
        },
      ],
      erc20Approvals: [],
      nftTransfers: [],
    }),
  },
  tenderly: {
    '*': ({ type = 'ALERT', uuid, hash, blockHash }) => ({
      id: uuid,
      event_type: type,
      transaction: {
        network: '1',
        hash,
        block_hash: blockHash,
        block_number: block.number,
        from,
        to: usdc,
        value: '0',
        input: '0x',
        logs: [{ address: usdc, topics, data: amountWord }],
      },
    }),
  },
  'openzeppelin-monitor': {
    '*': ({ type = 'Large transfer', hash }) => ({ title: type, body: `Transfer of 293.092129 USDC in ${hash}` }),
  },
  goldsky: {
    '*': ({ type = 'transfer', uuid, hash, time }) => ({
      id: uuid,
      op: 'INSERT',
      data_source: 'usdc/v1',
      entity: type,
      webhook_id: 'webhook_clcfdc9gb00i50hyd43qeeidu',
      webhook_name: 'usdc-transfers',
      data: {
        old: null,
        new: {
          id: `${hash}-110`,
          from,
          to,
          value: amount,
          block_number: String(block.number),
          timestamp: String(secondsOf(time)),
          vid: '1677156',
          block_range: `[${block.number},)`,
        },
      },
      delivery_info: { max_retries: 10, current_retry: 0 },
    }),
  },
  'coinbase-cdp': {
    'onchain.activity.detected': ({ hash, time }) => ({
      network: 'base-mainnet',
      block_number: block.number,
      timestamp: time.toISOString(),
      transaction_hash: hash,
      transaction_from: from,
      transaction_to: usdc,
      contract_address: usdc,
      log_index: 29,
      event_name: 'Transfer',
      event_signature: 'Transfer(address,address,uint256)',
      parameters: { from, to, value: amount },
    }),
    'wallet.activity.detected': (fresh) => cdpActivity(fresh, 'wallet.activity.detected'),
    'wallet.activity.multi': (fresh) => cdpActivity(fresh, 'wallet.activity.multi'),
    'wallet.transaction.created': (fresh) => cdpTransaction(fresh, 'created_at'),
    'wallet.transaction.broadcast': (fresh) => ({
      ...cdpTransaction(fresh, 'broadcast_at'),
      transaction_hash: fresh.hash,
    }),
    'wallet.transaction.confirmed': (fresh) => ({
      ...cdpTransaction(fresh, 'confirmed_at'),
      transaction_hash: fresh.hash,
    }),
  },
  stripe: {
    '*': ({ type = 'payment_intent.succeeded', token, time }) => ({
      id: `evt_${token}`,
      object: 'event',
      type,
      api_version: null,
      created: secondsOf(time),
      livemode: false,
      data: { object: { id: `obj_${token}`, object: type.replace(/\.[^.]+$/, '') } },
    }),
  },
  github: {
    '*': ({ hash, blockHash }) => ({
      ref: 'refs/heads/main',
      before: blockHash.slice(2, 42),
      after: hash.slice(2, 42),
      sender: { login: 'octocat', id: 1 },
      repository: { id: 1_296_269, full_name: 'octocat/Hello-World' },
    }),
  },
  'standard-webhooks': {
    '*': ({ type = 'transfer.completed', uuid, hash, time }) => ({
      type,
      timestamp: time.toISOString(),
      data: { id: uuid, transaction_hash: hash, amount: '293.092129', currency: 'USDC' },
    }),
  },
} as const satisfies SampleBodies
