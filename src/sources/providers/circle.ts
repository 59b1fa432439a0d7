import { defineProvider, hours, seconds } from '../provider.ts'

export const circle = defineProvider({
  // https://developers.circle.com/api-reference/verify-webhook-signatures
  verify: [
    {
      scheme: 'ecdsa-sha256',
      header: 'x-circle-signature',
      encoding: 'base64',
      keyIdHeader: 'x-circle-key-id',
    },
  ],
  // Path for wallets, contracts and Gateway. CPN and StableFX have their own.
  keyEndpoint: {
    url: 'https://api.circle.com/v2/notifications/publicKey/{keyId}',
    format: 'circle',
    needsApiKey: true,
  },
  // https://developers.circle.com/api-reference/webhooks
  id: 'body.notificationId',
  type: 'body.notificationType',
  createdAt: 'body.timestamp',
  key: ['body.notification.id'],
  probes: ['HEAD'],
  // https://developers.circle.com/wallets/webhook-notifications
  tests: [{ when: { 'body.notificationType': 'webhooks.test' }, status: 200 }],
  // https://developers.circle.com/cpn/concepts/webhooks/webhook-retries
  retries: {
    delaysMs: [...seconds(1, 10, 30, 60, 900), ...hours(1, 3, 5, 6, 10, 11)],
    windowMs: 36 * 3_600_000 + 1_001_000,
    final4xx: [],
  },
})
