import { defineProvider, seconds } from '../provider.ts'

export const alchemy = defineProvider({
  title: 'Alchemy Notify',
  verify: [{ scheme: 'hmac-sha256', header: 'x-alchemy-signature', encoding: 'hex' }],
  id: 'body.id',
  type: 'body.type',
  createdAt: 'body.createdAt',
  // A log with `removed: true` follows the log that it removes.
  key: [
    'body.event.network',
    ['body.event.activity.*.hash', 'body.event.transaction.hash', 'body.event.data.block.hash'],
  ],
  ackLimitMs: 5_000,
  // Enterprise plans retry for up to an hour.
  retries: { delaysMs: seconds(15, 60, 600), windowMs: 675_000, final4xx: [] },
  docs: {
    signature: 'https://docs.alchemy.com/reference/notify-api-faq',
    payload: 'https://docs.alchemy.com/reference/notify-api-quickstart',
    retries: 'https://www.alchemy.com/docs/reference/notify-api-faq',
  },
})
