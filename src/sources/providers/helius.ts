import { defineProvider, seconds } from '../provider.ts'

export const helius = defineProvider({
  // Header, response time and retries: https://www.helius.dev/docs/webhooks/faqs
  verify: [{ scheme: 'secret', header: 'authorization' }],
  // https://www.helius.dev/docs/webhooks
  // Enhanced webhooks, then raw ones. A batch of several transactions has no id.
  id: ['body.*.signature', 'body.*.transaction.signatures.0'],
  type: 'body.*.type',
  createdAt: ['body.*.timestamp', 'body.*.blockTime'],
  ackLimitMs: 1_000,
  retries: { delaysMs: seconds(1, 1, 1), windowMs: 3_000, final4xx: [403] },
})
