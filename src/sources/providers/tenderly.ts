import { defineProvider } from '../provider.ts'

// https://docs.tenderly.co/monitoring/alerts/destinations/project-scoped
export const tenderly = defineProvider({
  verify: [
    {
      scheme: 'hmac-sha256',
      header: 'x-tenderly-signature',
      encoding: 'hex',
      signed: ['{body}{timestamp}'],
      timestamp: { from: { header: 'date' }, unit: 'date', toleranceSeconds: 300 },
    },
  ],
  id: 'body.id',
  type: 'body.event_type',
  createdAt: 'header.date',
  key: ['body.transaction.network', 'body.transaction.hash'],
  probes: ['GET'],
  tests: [{ when: { 'body.event_type': 'TEST' }, status: 200 }],
  ackLimitMs: 5_000,
  retries: { maxAttempts: 5 },
})
