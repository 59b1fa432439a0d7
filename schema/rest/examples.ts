import type { ErrorCode } from './error.ts'

// Example values in the OpenAPI document: one account, one wallet and its two tokens. The values are consistent: the
// portfolio adds up to the overview, and the overview has the PnL of the summary.

const timestamp = '2026-01-31T14:03:22.123Z'

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
const { wallet, token, secondToken } = exampleIds

/** One example value per named schema. */
export const examples = {
  WalletOverview: {
    address: wallet,
    network: 'ethereum',
    portfolio_value_usd: 20_000,
    total_tokens_held: 2,
    total_trades_all_time: 4,
    first_active: '2026-01-04T09:12:47.000Z',
    last_active: '2026-01-31T13:58:11.000Z',
    is_whale: false,
    pnl_30d_usd: 3500,
    roi_30d_pct: 17.5,
  },
  Position: {
    token_address: token,
    symbol: 'EXMPL',
    name: 'Example Coin',
    balance: 12_000,
    price_usd: 1.25,
    value_usd: 15_000,
    cost_basis_usd: 12_000,
    unrealised_pnl_usd: 3000,
    unrealised_pnl_pct: 25,
    allocation_pct: 75,
  },
  PnlSummary: {
    wallet,
    network: 'ethereum',
    timeframe: '30d',
    pnl: { realized_usd: 1500, unrealized_usd: 2000, total_usd: 3500, roi_pct: 17.5 },
  },
  Trade: {
    tx_hash: exampleIds.tx,
    type: 'buy',
    timestamp: '2026-01-31T13:58:11.000Z',
    token_in: { address: exampleIds.coin, symbol: 'ETH', amount: 4, value_usd: 12_000 },
    token_out: { address: token, symbol: 'EXMPL', amount: 12_000, value_usd: 11_950 },
    dex: 'Uniswap V2',
    fee_usd: 36,
    price_impact_pct: 0.117,
  },
  Token: {
    address: token,
    network: 'ethereum',
    symbol: 'EXMPL',
    name: 'Example Coin',
    decimals: 18,
    price_usd: 1.25,
    change_pct_24h: 12.3,
    volume_24h_usd: 1_482_119.07,
    liquidity_usd: 10_240_000,
    market_cap_usd: 125_000_000,
    holder_count: 1841,
    risk_score: 33,
    risk_level: 'medium',
    created_at: '2026-01-02T20:41:35.000Z',
  },
  NewAlert: {
    type: 'price_above',
    address: token,
    network: 'ethereum',
    threshold: 1.2,
    webhook_url: 'https://hooks.example.com/alerts',
    label: 'EXMPL above 1.20',
  },
  Alert: {
    alert_id: exampleIds.alert,
    type: 'price_above',
    address: token,
    network: 'ethereum',
    threshold: 1.2,
    webhook_url: 'https://hooks.example.com/alerts',
    label: 'EXMPL above 1.20',
    status: 'active',
    created_at: timestamp,
  },
  DeletedAlert: { alert_id: exampleIds.alert, deleted: true },
  Network: {
    id: 'ethereum',
    name: 'Ethereum',
    chain_id: 1,
    native_currency: 'ETH',
    status: 'operational',
    features: ['tokens', 'wallets', 'contracts', 'liquidity'],
  },
  NewWebhook: { url: 'https://hooks.example.com/events', events: ['wallet.large_trade', 'token.price_alert'] },
  WebhookChange: { events: ['*'] },
  Webhook: {
    webhook_id: exampleIds.webhook,
    url: 'https://hooks.example.com/events',
    events: ['wallet.large_trade', 'token.price_alert'],
    status: 'active',
    created_at: timestamp,
  },
  CreatedWebhook: {
    webhook_id: exampleIds.webhook,
    url: 'https://hooks.example.com/events',
    events: ['wallet.large_trade', 'token.price_alert'],
    status: 'active',
    created_at: timestamp,
    secret: 'whsec_example_shown_once',
  },
  DeletedWebhook: { webhook_id: exampleIds.webhook, deleted: true },
  PlainMeta: { timestamp, latency_ms: 4 },
  NetworkMeta: { timestamp, network: 'ethereum', latency_ms: 4 },
  PageMeta: { timestamp, next_cursor: null, limit: 20, total: 1, latency_ms: 4 },
} as const

/** A second position, so that the shares of the portfolio add up to 100 %. */
const secondPosition = {
  token_address: secondToken,
  symbol: 'SMPL',
  name: 'Sample Coin',
  balance: 50_000,
  price_usd: 0.1,
  value_usd: 5000,
  cost_basis_usd: 6000,
  unrealised_pnl_usd: -1000,
  unrealised_pnl_pct: -16.67,
  allocation_pct: 25,
} as const

interface OperationExample {
  readonly parameters?: Readonly<Record<string, unknown>>
  readonly data?: unknown
  readonly meta?: object
}

/** Values that replace the example of the schema, by operation id. */
export const operationExamples: Readonly<Record<string, OperationExample>> = {
  getWalletPortfolio: { data: [examples.Position, secondPosition], meta: { total: 2 } },
  listWalletTrades: {
    parameters: { limit: 1 },
    meta: { next_cursor: 'eyJ2IjoxLCJrIjo0fQ.Qm9n', limit: 1, total: 4 },
  },
  getToken: { parameters: { address: token } },
  listNetworks: {
    data: [
      examples.Network,
      { ...examples.Network, id: 'solana', name: 'Solana', chain_id: null, native_currency: 'SOL' },
    ],
  },
  updateWebhook: { data: { ...examples.Webhook, events: ['*'] } },
}

/** Example values of parameters, by name. */
export const parameterExamples: Readonly<Record<string, unknown>> = {
  address: wallet,
  network: 'ethereum',
  limit: 20,
  cursor: 'eyJ2IjoxLCJrIjo0fQ.Qm9n',
  timeframe: '30d',
  token,
  q: 'exmpl',
  alert_id: exampleIds.alert,
  webhook_id: exampleIds.webhook,
}

/** An example message per error code. */
export const errorMessages = {
  invalid_request:
    'network: expected one of ethereum, bnb, solana, polygon, base, avalanche, arbitrum, received "etherium".',
  invalid_api_key: 'The API key is unknown. Send one as `Authorization: Bearer <API_KEY>`.',
  insufficient_scope: 'This needs a key with the scope read:wallets; yours has write:alerts.',
  not_found: 'Nothing has this path or identifier. Check both.',
  wallet_not_found: 'No wallet with this address has been seen on ethereum.',
  method_not_allowed: 'PUT is not allowed here. Use GET.',
  limit_reached: 'The account has reached the limit of 100 alerts. Delete one first.',
  payload_too_large: 'The body is longer than 65536 bytes.',
  unsupported_media_type: 'Expected the body as application/json, received text/plain.',
  rate_limited: 'The 60 requests of this minute are used up. Try again in 12 seconds.',
  internal: 'The service failed. Try again. If it fails again, report the request_id.',
  not_documented: 'This operation is not documented, so it is not emulated.',
  network_unavailable: 'ethereum is in maintenance. Try again in 30 seconds.',
} as const satisfies Record<ErrorCode, string>
