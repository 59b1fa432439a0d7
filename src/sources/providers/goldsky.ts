import { defineProvider } from '../provider.ts'

export const goldsky = defineProvider({
  // Header and retries: https://docs.goldsky.com/api-reference/subgraph-webhooks/create-a-webhook
  verify: [{ scheme: 'secret', header: 'goldsky-webhook-secret' }],
  // https://docs.goldsky.com/subgraphs/webhooks
  id: 'body.id',
  type: 'body.entity',
  key: ['body.data_source', 'body.entity', ['body.data.new.id', 'body.data.old.id']],
  volatile: ['delivery_info'],
  // The user of a webhook chooses timeout, retries and their interval.
})
