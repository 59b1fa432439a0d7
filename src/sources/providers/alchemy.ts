import { defineProvider, seconds } from '../provider.ts'

export const alchemy = defineProvider({
  // https://docs.alchemy.com/reference/notify-api-faq
  verify: [{ scheme: 'hmac-sha256', header: 'x-alchemy-signature', encoding: 'hex' }],
  // https://docs.alchemy.com/reference/notify-api-quickstart
  id: 'body.id',
  type: 'body.type',
  createdAt: 'body.createdAt',
  // A log with `removed: true` follows the log that it removes.
  key: [
    'body.event.network',
    ['body.event.activity.*.hash', 'body.event.transaction.hash', 'body.event.data.block.hash'],
  ],
  ackLimitMs: 5_000,
  // https://www.alchemy.com/docs/reference/notify-api-faq
  // Enterprise plans retry for up to an hour.
  retries: { delaysMs: seconds(15, 60, 600), windowMs: 675_000, final4xx: [] },
})
