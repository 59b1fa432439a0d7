import { defineProvider, seconds } from '../provider.ts'

export const fireblocks = defineProvider({
  // https://developers.fireblocks.com/reference/validating-webhooks
  verify: [{ scheme: 'jws-rs512', header: 'fireblocks-webhook-signature' }],
  // US production. Other environments: eu-keys, eu2-keys and sandbox-keys.
  keyEndpoint: { url: 'https://keys.fireblocks.io/.well-known/jwks.json', format: 'jwks', needsApiKey: false },
  // https://developers.fireblocks.com/reference/webhook-notification-structure
  id: 'body.id',
  type: 'body.eventType',
  createdAt: 'body.createdAt',
  key: [['body.resourceId', 'body.data.id']],
  // https://developers.fireblocks.com/reference/webhooks-gettingstarted-responsesretries
  retries: {
    delaysMs: seconds(10, 30, 120, 300, 900, 1_800, 3_600, 7_200, 14_400),
    windowMs: 28_360_000,
    final4xx: { allBut: [408, 429] },
  },
})
