import { defineProvider } from '../provider.ts'

export const openzeppelinMonitor = defineProvider({
  // https://github.com/OpenZeppelin/openzeppelin-monitor/blob/main/src/services/notification/webhook.rs
  verify: [
    {
      scheme: 'hmac-sha256',
      header: 'x-signature',
      encoding: 'hex',
      signed: ['{body}{timestamp}'],
      timestamp: { from: { header: 'x-timestamp' }, unit: 'ms', toleranceSeconds: 300 },
    },
  ],
  // https://docs.openzeppelin.com/monitor
  type: 'body.title',
  createdAt: 'header.x-timestamp',
  // https://github.com/OpenZeppelin/openzeppelin-monitor/blob/main/src/utils/http.rs
  // Default of `retry_policy`; with full jitter these are maxima. 4xx: default of the reqwest-retry crate.
  retries: { delaysMs: [250, 500, 1_000], windowMs: 1_750, final4xx: { allBut: [408, 429] } },
})
