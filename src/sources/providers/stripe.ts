import { defineProvider } from '../provider.ts'

export const stripe = defineProvider({
  // https://docs.stripe.com/webhooks#verify-manually
  verify: [
    {
      scheme: 'hmac-sha256',
      header: 'stripe-signature',
      separator: ',',
      prefix: 'v1=',
      encoding: 'hex',
      signed: ['{timestamp}.{body}'],
      timestamp: { from: { item: 't' }, unit: 's', toleranceSeconds: 300 },
    },
  ],
  // https://docs.stripe.com/api/events/object
  id: 'body.id',
  type: 'body.type',
  createdAt: 'body.created',
  key: ['body.data.object.id'],
  // Counts the endpoints that have not acknowledged the event yet.
  volatile: ['pending_webhooks'],
  // https://docs.stripe.com/webhooks#retries
  retries: { windowMs: 3 * 24 * 3_600_000, final4xx: [] },
  // https://docs.stripe.com/webhooks#replay-attacks
  resigns: true,
})
