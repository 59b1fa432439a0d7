import { eventTypes, type EventType } from './index.ts'
import { exampleIds } from './rest/examples.ts'

// What the documents say about events beyond their schemas: which of it is our choice, and examples.

interface EventNotes {
  /** Choices about the event as a whole: when it arises. */
  readonly assumptions: readonly string[]
  /** Choices about single fields of `data`. */
  readonly fields?: Readonly<Record<string, readonly string[]>>
  readonly data: Readonly<Record<string, unknown>>
}

const ofToken = { token_address: exampleIds.token, network: 'ethereum', symbol: 'EXMPL' }
const ofContract = { contract_address: exampleIds.token, network: 'ethereum', symbol: 'EXMPL' }
const ofWallet = { wallet_address: exampleIds.wallet, network: 'ethereum' }

/** Choices about the envelope of every event. */
export const envelopeNotes: Readonly<Record<string, readonly string[]>> = { id: ['A40'], created_at: ['A4'] }

/** Choices and an example of each event type. */
export const eventNotes: { readonly [T in EventType]: EventNotes } = {
  'token.price_alert': {
    assumptions: ['A17'],
    data: {
      ...ofToken,
      alert_type: 'price_above',
      threshold_usd: 1.2,
      current_price_usd: 1.25,
      change_pct_24h: 12.3,
    },
  },
  'token.new_listing': {
    assumptions: ['A66'],
    data: {
      ...ofToken,
      name: 'Example Coin',
      dex: 'Uniswap V2',
      pool_address: exampleIds.pool,
      initial_liquidity_usd: 50_000,
      listing_tx: exampleIds.tx,
    },
  },
  'token.risk_change': {
    assumptions: ['A34'],
    fields: { previous_risk_score: ['A36'], current_risk_score: ['A36'], risk_level: ['A36'] },
    data: {
      ...ofToken,
      previous_risk_score: 33,
      current_risk_score: 58,
      risk_level: 'high',
      triggered_checks: ['mintable', 'hidden_owner'],
      ai_summary: 'Risk score of EXMPL moved from 33 to 58; new findings: mintable, hidden_owner.',
    },
  },
  'wallet.large_trade': {
    assumptions: ['A34'],
    fields: { trade_type: ['A38'], tx_hash: ['A10'] },
    data: {
      ...ofWallet,
      trade_type: 'buy',
      token_address: exampleIds.token,
      token_symbol: 'EXMPL',
      amount_usd: 12_000,
      tx_hash: exampleIds.tx,
    },
  },
  'wallet.new_position': {
    assumptions: ['A34'],
    fields: { tx_hash: ['A10'] },
    data: {
      ...ofWallet,
      token_address: exampleIds.token,
      token_symbol: 'EXMPL',
      entry_price_usd: 1,
      amount_usd: 12_000,
      tx_hash: exampleIds.tx,
    },
  },
  'wallet.pnl_milestone': {
    assumptions: ['A34', 'A35'],
    fields: { timeframe: ['A35'], realized_pnl_usd: ['A12'], roi_pct: ['A12'] },
    data: { ...ofWallet, milestone_usd: 1000, realized_pnl_usd: 1500, roi_pct: 75, timeframe: 'all' },
  },
  'contract.honeypot_detected': {
    assumptions: [],
    fields: { risk_score: ['A36'], honeypot_type: ['A37'] },
    data: {
      ...ofContract,
      risk_score: 97,
      honeypot_type: 'sell_blocked',
      liquidity_usd: 12_000,
      holder_count: 1132,
      ai_summary: 'A simulated sale of EXMPL fails (sell_blocked): buyers cannot sell.',
    },
  },
  'contract.liquidity_removed': {
    assumptions: ['A39'],
    fields: { tx_hash: ['A10'] },
    data: {
      ...ofContract,
      pool_address: exampleIds.pool,
      liquidity_removed_usd: 80_000,
      liquidity_removed_pct: 80,
      remaining_liquidity_usd: 20_000,
      tx_hash: exampleIds.tx,
    },
  },
  'contract.ownership_changed': {
    assumptions: [],
    fields: { tx_hash: ['A10'] },
    data: {
      ...ofContract,
      previous_owner: exampleIds.owner,
      new_owner: exampleIds.newOwner,
      tx_hash: exampleIds.tx,
    },
  },
  'pump.graduation': {
    assumptions: ['A67', 'A68'],
    fields: { bonding_curve_completed: ['A67'], sol_raised: ['A67'], migration_tx: ['A10'] },
    data: {
      token_address: '7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU',
      symbol: 'CURVE',
      name: 'Curve Coin',
      bonding_curve_completed: true,
      sol_raised: 85.005359057,
      raydium_pool: 'EP2ib6dYdEeqD8MfE2ezHCxX3kP3K2eLKkirfPm5eyMx',
      migration_tx: '5Jx7k2Vb9QmR4tYwZpNcA8sDfGhL3uEi6oTqXyBvHjKnMrPaSdFgWeUzC1V9XbNmQk7T4yRhJpLs2Gd5Ft8EaUwZ',
    },
  },
}

/** One whole event of each type. */
export const eventExamples: Readonly<Record<string, object>> = Object.fromEntries(
  eventTypes.map((type) => [
    type,
    { id: 'evt_01kg9v6w4q7a2m5b8c3d6e9f2g', type, created_at: '2026-01-31T14:03:22.123Z', data: eventNotes[type].data },
  ]),
)

/** The name of a type's schema in the documents: `WalletLargeTradeEvent`. */
export function toSchemaName(type: EventType): string {
  return `${type
    .split(/[._]/)
    .map((word) => `${word.charAt(0).toUpperCase()}${word.slice(1)}`)
    .join('')}Event`
}
