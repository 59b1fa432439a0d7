import { defineProvider } from '../provider.ts'

export const github = defineProvider({
  // https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries
  verify: [{ scheme: 'hmac-sha256', header: 'x-hub-signature-256', prefix: 'sha256=', encoding: 'hex' }],
  // https://docs.github.com/en/webhooks/webhook-events-and-payloads
  // The signature covers no header, so x-github-delivery is no id. Only a header has the type.
  type: 'header.x-github-event',
  key: ['body.repository.full_name'],
  // https://docs.github.com/en/webhooks/webhook-events-and-payloads#ping
  tests: [{ when: { 'body.zen': true, 'body.hook_id': true }, status: 200 }],
  ackLimitMs: 10_000,
  // https://docs.github.com/en/webhooks/using-webhooks/handling-failed-webhook-deliveries
  retries: { delaysMs: [], windowMs: 0, final4xx: [] },
})
