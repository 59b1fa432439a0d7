import { defineProvider, type Verification } from '../provider.ts'

/** Symmetric and asymmetric signatures, in the headers `<prefix>-id`, `-timestamp` and `-signature`. */
const verifications = (prefix: string): readonly Verification[] => {
  const common = {
    header: `${prefix}-signature`,
    separator: ' ',
    encoding: 'base64',
    signed: [`{header.${prefix}-id}.{timestamp}.{body}`],
    timestamp: { from: { header: `${prefix}-timestamp` }, unit: 's', toleranceSeconds: 300 },
  } as const
  return [
    { ...common, scheme: 'hmac-sha256', prefix: 'v1,', secretEncoding: 'base64' },
    { ...common, scheme: 'ed25519', prefix: 'v1a,' },
  ]
}

// https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
export const standardWebhooks = defineProvider({
  verify: [...verifications('webhook'), ...verifications('svix')],
  id: ['header.webhook-id', 'header.svix-id'],
  type: 'body.type',
  createdAt: ['body.timestamp', 'body.created_at'],
  key: ['body.data.id'],
  // Section "Webhook metadata" of the specification.
  resigns: true,
})
