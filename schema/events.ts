import { z } from 'zod'
import { toEventSchema, type envelopeSchema } from './envelope.ts'
import {
  aiSummary,
  assumed,
  contractAddress,
  network,
  openString,
  percent,
  poolAddress,
  riskScore,
  symbol,
  tokenAddress,
  tokenName,
  txHash,
  usd,
  walletAddress,
} from './fields.ts'
import { eventTypes, type EventType } from './names.ts'
import { exampleIds } from './rest/examples.ts'

// Leading fields shared by a group of events, and example values.
const token = { token_address: tokenAddress, network, symbol }
const exampleToken = { token_address: exampleIds.token, network: 'ethereum', symbol: 'EXMPL' }
const contract = { contract_address: contractAddress, network, symbol }
const exampleContract = { contract_address: exampleIds.token, network: 'ethereum', symbol: 'EXMPL' }
const wallet = { wallet_address: walletAddress, network }
const exampleWallet = { wallet_address: exampleIds.wallet, network: 'ethereum' }

/**
 * The schema of each documented event type, in the order of the spec (R93–R102): meaning, fields, an example, and the
 * assumptions about when the event arises. Unknown fields are kept (R125).
 */
export const eventSchemas = {
  // R93, R104
  'token.price_alert': toEventSchema(
    'token.price_alert',
    'Token price crossed a configured threshold.',
    {
      ...token,
      alert_type: z.enum(['price_above', 'price_below']).describe('Direction of the crossing.'),
      threshold_usd: usd.describe('The configured price in USD.'),
      current_price_usd: usd.describe('Current price in USD.'),
      change_pct_24h: percent.describe('Price change over 24 hours, percent.'),
    },
    { ...exampleToken, alert_type: 'price_above', threshold_usd: 1.2, current_price_usd: 1.25, change_pct_24h: 12.3 },
    ['A17'],
  ),
  // R94
  'token.new_listing': toEventSchema(
    'token.new_listing',
    'New liquidity pool for a previously unseen token detected on a DEX.',
    {
      ...token,
      name: tokenName,
      dex: openString.describe('Name of the exchange; an open set.'),
      pool_address: poolAddress,
      initial_liquidity_usd: usd.describe('Liquidity at creation, in USD.'),
      listing_tx: txHash.describe('Transaction that created the pool.'),
    },
    {
      ...exampleToken,
      name: 'Example Coin',
      dex: 'Uniswap V2',
      pool_address: exampleIds.pool,
      initial_liquidity_usd: 50_000,
      listing_tx: exampleIds.tx,
    },
    ['A66'],
  ),
  // R95
  'token.risk_change': toEventSchema(
    'token.risk_change',
    'AI audit risk score moved by more than the configured sensitivity.',
    {
      ...token,
      previous_risk_score: assumed(riskScore.describe('Risk score before; higher is worse.'), 'A36'),
      current_risk_score: assumed(riskScore.describe('Risk score now; higher is worse.'), 'A36'),
      risk_level: assumed(openString.describe('Risk level, such as low or critical; an open set.'), 'A36'),
      triggered_checks: z.array(z.string()).describe('Names of the audit checks that fired.'),
      ai_summary: aiSummary,
    },
    {
      ...exampleToken,
      previous_risk_score: 33,
      current_risk_score: 58,
      risk_level: 'high',
      triggered_checks: ['mintable', 'hidden_owner'],
      ai_summary: 'Risk score of EXMPL moved from 33 to 58; new findings: mintable, hidden_owner.',
    },
    ['A34'],
  ),
  // R96
  'wallet.large_trade': toEventSchema(
    'wallet.large_trade',
    'Tracked wallet traded above the configured dollar threshold.',
    {
      ...wallet,
      trade_type: assumed(openString.describe('Kind of trade, such as buy, sell or swap; an open set.'), 'A38'),
      token_address: tokenAddress,
      token_symbol: symbol,
      amount_usd: usd.describe('Size of the trade in USD.'),
      tx_hash: assumed(txHash, 'A10'),
    },
    {
      ...exampleWallet,
      trade_type: 'buy',
      token_address: exampleIds.token,
      token_symbol: 'EXMPL',
      amount_usd: 12_000,
      tx_hash: exampleIds.tx,
    },
    ['A34'],
  ),
  // R97
  'wallet.new_position': toEventSchema(
    'wallet.new_position',
    'Tracked wallet bought a token it had not held.',
    {
      ...wallet,
      token_address: tokenAddress,
      token_symbol: symbol,
      entry_price_usd: usd.describe('Price of one token in USD.'),
      amount_usd: usd.describe('Size of the purchase in USD.'),
      tx_hash: assumed(txHash, 'A10'),
    },
    {
      ...exampleWallet,
      token_address: exampleIds.token,
      token_symbol: 'EXMPL',
      entry_price_usd: 1,
      amount_usd: 12_000,
      tx_hash: exampleIds.tx,
    },
    ['A34'],
  ),
  // R98
  'wallet.pnl_milestone': toEventSchema(
    'wallet.pnl_milestone',
    'Cumulative realized PnL of a tracked wallet crossed a positive or negative milestone.',
    {
      ...wallet,
      milestone_usd: usd.describe('The milestone in USD; negative for a loss.'),
      realized_pnl_usd: assumed(usd.describe('Cumulative realized profit or loss in USD.'), 'A12'),
      roi_pct: assumed(percent.describe('Return on investment, percent of cost basis.'), 'A12'),
      timeframe: assumed(openString.describe('Window of the figures, such as 30d or all.'), 'A35'),
    },
    { ...exampleWallet, milestone_usd: 1000, realized_pnl_usd: 1500, roi_pct: 75, timeframe: 'all' },
    ['A34', 'A35'],
  ),
  // R99
  'contract.honeypot_detected': toEventSchema(
    'contract.honeypot_detected',
    'AI audit flagged a contract as a honeypot: buyers cannot sell.',
    {
      ...contract,
      risk_score: assumed(riskScore, 'A36'),
      honeypot_type: assumed(
        openString.describe('How selling is prevented, such as sell_blocked; an open set.'),
        'A37',
      ),
      liquidity_usd: usd.describe('Liquidity in USD.'),
      holder_count: z.int().describe('Number of holders.'),
      ai_summary: aiSummary,
    },
    {
      ...exampleContract,
      risk_score: 97,
      honeypot_type: 'sell_blocked',
      liquidity_usd: 12_000,
      holder_count: 1132,
      ai_summary: 'A simulated sale of EXMPL fails (sell_blocked): buyers cannot sell.',
    },
  ),
  // R100
  'contract.liquidity_removed': toEventSchema(
    'contract.liquidity_removed',
    'Significant liquidity removed from a pool.',
    {
      ...contract,
      pool_address: poolAddress,
      liquidity_removed_usd: usd.describe('Liquidity that left the pool, in USD.'),
      liquidity_removed_pct: percent.describe('Share of the liquidity that left the pool, percent.'),
      remaining_liquidity_usd: usd.describe('Liquidity still in the pool, in USD.'),
      tx_hash: assumed(txHash, 'A10'),
    },
    {
      ...exampleContract,
      pool_address: exampleIds.pool,
      liquidity_removed_usd: 80_000,
      liquidity_removed_pct: 80,
      remaining_liquidity_usd: 20_000,
      tx_hash: exampleIds.tx,
    },
    ['A39'],
  ),
  // R101
  'contract.ownership_changed': toEventSchema(
    'contract.ownership_changed',
    'Owner or admin authority of a contract transferred.',
    {
      ...contract,
      previous_owner: openString.describe('Address of the previous owner.'),
      new_owner: openString.describe('Address of the new owner; a zero address means that ownership was renounced.'),
      tx_hash: assumed(txHash, 'A10'),
    },
    { ...exampleContract, previous_owner: exampleIds.owner, new_owner: exampleIds.newOwner, tx_hash: exampleIds.tx },
  ),
  // R102
  'pump.graduation': toEventSchema(
    'pump.graduation',
    'A launch-platform token completed its bonding curve and migrated to a decentralized exchange pool.',
    {
      token_address: tokenAddress,
      symbol,
      name: tokenName,
      bonding_curve_completed: assumed(z.boolean().describe('Whether the bonding curve is complete.'), 'A67'),
      sol_raised: assumed(z.number().describe('Native coin raised on the curve, about 85.'), 'A67'),
      raydium_pool: openString.describe('Address of the pool it migrated to.'),
      migration_tx: assumed(txHash.describe('Transaction of the migration.'), 'A10'),
    },
    {
      token_address: '7xKXtg2CW87d97TXJSDpbD5jBkheTqA83TZRuJosgAsU',
      symbol: 'CURVE',
      name: 'Curve Coin',
      bonding_curve_completed: true,
      sol_raised: 85.005359057,
      raydium_pool: 'EP2ib6dYdEeqD8MfE2ezHCxX3kP3K2eLKkirfPm5eyMx',
      migration_tx: '5Jx7k2Vb9QmR4tYwZpNcA8sDfGhL3uEi6oTqXyBvHjKnMrPaSdFgWeUzC1V9XbNmQk7T4yRhJpLs2Gd5Ft8EaUwZ',
    },
    ['A67', 'A68'],
  ),
} as const satisfies Readonly<Record<EventType, z.ZodType>>

/** One whole event of each type. */
export const eventExamples = Object.fromEntries(
  eventTypes.map((type) => {
    const { examples } = eventSchemas[type].meta() as { readonly examples: readonly unknown[] }
    return [type, examples[0]]
  }),
) as Readonly<Record<EventType, z.output<typeof envelopeSchema>>>

/** Numbers of the assumptions about when an event of the type arises. */
export function assumptionsOf(type: EventType): readonly string[] {
  return (eventSchemas[type].meta()?.['x-assumption'] ?? []) as readonly string[]
}
