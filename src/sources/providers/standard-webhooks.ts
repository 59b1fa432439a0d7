import { defineProvider, type Verification } from '../provider.ts'

const spec = 'https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md'

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

export const standardWebhooks = defineProvider({
  title: 'Standard Webhooks (Svix, Clerk, Resend, …)',
  verify: [...verifications('webhook'), ...verifications('svix')],
  id: ['header.webhook-id', 'header.svix-id'],
  type: 'body.type',
  createdAt: ['body.timestamp', 'body.created_at'],
  key: ['body.data.id'],
  resigns: `${spec}#webhook-metadata`,
  docs: { signature: `${spec}#signature-scheme`, payload: `${spec}#payload-structure`, retries: spec },
})
