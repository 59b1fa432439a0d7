import { defineProvider, hours, seconds } from '../provider.ts'

const emptyBlock = { 'body.streamId': '', 'body.block.hash': '' }

export const moralis = defineProvider({
  // https://docs.moralis.com/streams/security-and-reliability/webhook-security
  verify: [{ scheme: 'keccak256', header: 'x-signature', prefix: '0x', encoding: 'hex' }],
  // https://docs.moralis.com/streams/webhooks/webhook-delivery
  // A block may take several deliveries, so stream and block are no id.
  type: 'body.tag',
  createdAt: 'body.block.timestamp',
  // The confirmed delivery of a block follows the unconfirmed one.
  key: ['body.chainId', 'body.block.hash'],
  volatile: ['retries'],
  // https://docs.moralis.com/streams/webhooks/test-webhooks
  tests: [{ when: emptyBlock, status: 200 }],
  // https://docs.moralis.com/streams/streams-concepts/error-handling
  retries: {
    delaysMs: [...seconds(60, 600), ...hours(1, 2, 6, 12, 24)],
    windowMs: 45 * 3_600_000 + 660_000,
    final4xx: [],
  },
})
