import { defineProvider } from '../provider.ts'

const nonce = '{header.x-qn-nonce}'

export const quicknodeAlerts = defineProvider({
  // https://quicknode.com/docs/quickalerts/quickalerts-destinations/webhooks/webhook-signature
  verify: [
    {
      scheme: 'hmac-sha256',
      header: 'x-qn-signature',
      encoding: 'base64',
      // Signs the header x-qn-content-hash. Its algorithm is undocumented: receivers in use hash request target and body.
      signed: [`${nonce}{bodyDigest}{timestamp}`, `${nonce}{targetBodyDigest}{timestamp}`],
      timestamp: { from: { header: 'x-qn-timestamp' }, unit: 'date', toleranceSeconds: 300 },
    },
  ],
  // Payloads: https://www.quicknode.com/docs/quickalerts/quickalerts-destinations/webhooks/webhook-payload-types
})
