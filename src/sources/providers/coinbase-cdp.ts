import { defineProvider, uuidPattern } from '../provider.ts'

export const coinbaseCdp = defineProvider({
  // https://docs.cdp.coinbase.com/webhooks/verify-signatures
  verify: [
    {
      scheme: 'hmac-sha256',
      header: 'x-hook0-signature',
      separator: ',',
      prefix: 'v1=',
      encoding: 'hex',
      signed: ['{timestamp}.{item.h}.{signedHeaders}.{body}'],
      timestamp: { from: { item: 't' }, unit: 's', toleranceSeconds: 300 },
      // The signed headers are joined with dots, which types contain.
      formats: { 'x-event-id': uuidPattern },
    },
  ],
  // https://docs.cdp.coinbase.com/api-reference/v2/webhooks/webhook-wallet-activity-detected
  id: 'header.x-event-id',
  // Onchain activity has its type only in the header.
  type: ['body.eventType', 'header.x-event-type'],
  createdAt: 'body.timestamp',
  key: [
    ['body.data.network', 'body.network'],
    ['body.data.transactionHash', 'body.transactionHash', 'body.transaction_hash', 'body.data.transferId'],
  ],
  // https://docs.cdp.coinbase.com/get-started/webhooks
  // Exponential backoff. Hook0, on which it is built, signs each attempt anew; Coinbase doesn't say so.
  retries: { maxAttempts: 61 },
})
