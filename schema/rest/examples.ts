// Example values in the documents: one account, one wallet and its two tokens. The values are consistent: the portfolio adds up
// to the overview, and the overview has the PnL of the summary.

export const exampleTime = '2026-01-31T14:03:22.123Z'

/** Addresses and hashes in the examples of resources and events. */
export const exampleIds = {
  wallet: '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
  token: '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  secondToken: '0xdbF03B407c01E7cD3CBea99509d93f8DDDC8C6FB',
  pool: '0xD1220A0cf47c7B9Be7A2E6BA89F429762e7b9aDb',
  owner: '0x8617E340B3D01FA5F11F306F4090FD50E238070D',
  newOwner: '0xde709f2102306220921060314715629080e2fb77',
  coin: '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE',
  tx: `0x${'4a7f09c3e1'.repeat(6)}b2d8`,
  alert: 'alrt_01kg9v3q2m5x7c8d',
  webhook: 'wh_01kg9v4r6n8y2f3h',
  request: 'req_01kg9v5t9p3z4j6k',
} as const

/** Example values of parameters, by name. */
export const parameterExamples = {
  address: exampleIds.wallet,
  network: 'ethereum',
  limit: 20,
  cursor: 'eyJ2IjoxLCJrIjo0fQ.Qm9n',
  timeframe: '30d',
  token: exampleIds.token,
  q: 'exmpl',
  alert_id: exampleIds.alert,
  webhook_id: exampleIds.webhook,
}
