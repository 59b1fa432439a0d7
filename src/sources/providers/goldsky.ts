import { defineProvider } from '../provider.ts'

export const goldsky = defineProvider({
  title: 'Goldsky subgraph webhooks',
  verify: [{ scheme: 'secret', header: 'goldsky-webhook-secret' }],
  id: 'body.id',
  type: 'body.entity',
  key: ['body.data_source', 'body.entity', ['body.data.new.id', 'body.data.old.id']],
  volatile: ['delivery_info'],
  docs: {
    signature: 'https://docs.goldsky.com/api-reference/subgraph-webhooks/create-a-webhook',
    payload: 'https://docs.goldsky.com/subgraphs/webhooks',
    // The user of a webhook chooses timeout, retries and their interval.
    retries: 'https://docs.goldsky.com/api-reference/subgraph-webhooks/create-a-webhook',
  },
})
