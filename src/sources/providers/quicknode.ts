import { defineProvider } from '../provider.ts'

export const quicknode = defineProvider({
  // https://www.quicknode.com/guides/quicknode-products/streams/validating-incoming-streams-webhook-messages
  verify: [
    {
      scheme: 'hmac-sha256',
      header: 'x-qn-signature',
      encoding: 'hex',
      signed: ['{header.x-qn-nonce}{timestamp}{body}'],
      timestamp: { from: { header: 'x-qn-timestamp' }, unit: 's', toleranceSeconds: 300 },
    },
  ],
  inflates: true,
  // https://www.quicknode.com/docs/streams/rest-api/streams-rest-create-stream
  // The user of a stream chooses timeout, retries and their interval.
})
