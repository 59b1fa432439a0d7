import { z } from 'zod'
import { toEventSchema } from './envelope.ts'
import {
  aiSummary,
  contractAddress,
  network,
  open,
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

/** The schema of each documented event type, in the order of the spec (R93–R102). Unknown fields are kept (R125). */
export const eventSchemas = {
  // R93, R104
  'token.price_alert': toEventSchema(
    'token.price_alert',
    'Token price crossed a configured threshold.',
    z.looseObject({
      token_address: tokenAddress,
      network,
      symbol,
      alert_type: z.enum(['price_above', 'price_below']).describe('Which way the price crossed the threshold.'),
      threshold_usd: usd.describe('The configured price in USD.'),
      current_price_usd: usd.describe('The price in USD that crossed it.'),
      change_pct_24h: percent.describe('Price change over 24 hours, percent.'),
    }),
  ),
  // R94
  'token.new_listing': toEventSchema(
    'token.new_listing',
    'New liquidity pool for a previously unseen token detected on a DEX.',
    z.looseObject({
      token_address: tokenAddress,
      network,
      symbol,
      name: tokenName,
      dex: open.describe('Name of the exchange; an open set.'),
      pool_address: poolAddress,
      initial_liquidity_usd: usd.describe('Liquidity at creation, in USD.'),
      listing_tx: txHash.describe('Transaction that created the pool.'),
    }),
  ),
  // R95
  'token.risk_change': toEventSchema(
    'token.risk_change',
    'AI audit risk score moved by more than the configured sensitivity.',
    z.looseObject({
      token_address: tokenAddress,
      network,
      symbol,
      previous_risk_score: riskScore.describe('Risk score before; higher is worse.'),
      current_risk_score: riskScore.describe('Risk score now; higher is worse.'),
      risk_level: open.describe('Level of the score in a word, such as low or critical; an open set.'),
      triggered_checks: z.array(z.string()).describe('Names of the audit checks that fired.'),
      ai_summary: aiSummary,
    }),
  ),
  // R96
  'wallet.large_trade': toEventSchema(
    'wallet.large_trade',
    'Tracked wallet traded above the configured dollar threshold.',
    z.looseObject({
      wallet_address: walletAddress,
      network,
      trade_type: open.describe('Kind of trade, such as buy, sell or swap; an open set.'),
      token_address: tokenAddress,
      token_symbol: symbol,
      amount_usd: usd.describe('Size of the trade in USD.'),
      tx_hash: txHash,
    }),
  ),
  // R97
  'wallet.new_position': toEventSchema(
    'wallet.new_position',
    'Tracked wallet bought a token it had not held.',
    z.looseObject({
      wallet_address: walletAddress,
      network,
      token_address: tokenAddress,
      token_symbol: symbol,
      entry_price_usd: usd.describe('Price of one token in USD.'),
      amount_usd: usd.describe('Size of the purchase in USD.'),
      tx_hash: txHash,
    }),
  ),
  // R98
  'wallet.pnl_milestone': toEventSchema(
    'wallet.pnl_milestone',
    'Cumulative realized PnL of a tracked wallet crossed a positive or negative milestone.',
    z.looseObject({
      wallet_address: walletAddress,
      network,
      milestone_usd: usd.describe('The milestone in USD; negative for a loss.'),
      realized_pnl_usd: usd.describe('Cumulative realized profit or loss in USD.'),
      roi_pct: percent.describe('Return on investment, percent of cost basis.'),
      timeframe: open.describe('Window of the figures, such as 30d or all.'),
    }),
  ),
  // R99
  'contract.honeypot_detected': toEventSchema(
    'contract.honeypot_detected',
    'AI audit flagged a contract as a honeypot: buyers cannot sell.',
    z.looseObject({
      contract_address: contractAddress,
      network,
      symbol,
      risk_score: riskScore,
      honeypot_type: open.describe('How selling is prevented, such as sell_blocked; an open set.'),
      liquidity_usd: usd.describe('Liquidity in USD.'),
      holder_count: z.int().describe('Number of holders.'),
      ai_summary: aiSummary,
    }),
  ),
  // R100
  'contract.liquidity_removed': toEventSchema(
    'contract.liquidity_removed',
    'Significant liquidity removed from a pool.',
    z.looseObject({
      contract_address: contractAddress,
      network,
      symbol,
      pool_address: poolAddress,
      liquidity_removed_usd: usd.describe('Liquidity that left the pool, in USD.'),
      liquidity_removed_pct: percent.describe('Share of the liquidity that left the pool, percent.'),
      remaining_liquidity_usd: usd.describe('Liquidity still in the pool, in USD.'),
      tx_hash: txHash,
    }),
  ),
  // R101
  'contract.ownership_changed': toEventSchema(
    'contract.ownership_changed',
    'Owner or admin authority of a contract transferred.',
    z.looseObject({
      contract_address: contractAddress,
      network,
      symbol,
      previous_owner: open.describe('Address of the owner before.'),
      new_owner: open.describe('Address of the owner now; a zero address means that ownership was renounced.'),
      tx_hash: txHash,
    }),
  ),
  // R102
  'pump.graduation': toEventSchema(
    'pump.graduation',
    'A launch-platform token completed its bonding curve and migrated to a decentralized exchange pool.',
    z.looseObject({
      token_address: tokenAddress,
      symbol,
      name: tokenName,
      bonding_curve_completed: z.boolean().describe('Whether the bonding curve is complete.'),
      sol_raised: z.number().describe('Native coin raised on the curve, about 85.'),
      raydium_pool: open.describe('Address of the pool it migrated to.'),
      migration_tx: txHash.describe('Transaction of the migration.'),
    }),
  ),
} as const

export type EventType = keyof typeof eventSchemas

/** The documented event types, in the order of the spec (R93–R102). */
export const eventTypes = Object.keys(eventSchemas) as readonly EventType[]
