import { z } from 'zod'
import { symbol, tokenName } from '../fields.ts'
import { count, network, openEnum, percent, timestamp, tokenAddress, usd } from './fields.ts'

/** `data` of a token, and an element of a search (R64, R65). The service documents no field of it (A7). */
export const token = z
  .object({
    address: tokenAddress,
    network,
    symbol,
    name: tokenName,
    decimals: z.int().min(0).max(255).describe('Number of decimals of an amount.'),
    price_usd: usd.describe('Price of one token in USD.'),
    change_pct_24h: percent.describe('Price change over 24 hours in percent.'),
    volume_24h_usd: usd.describe('Traded volume over 24 hours in USD.'),
    liquidity_usd: usd.describe('Liquidity of its pool in USD.'),
    market_cap_usd: usd.describe('Price times supply in USD.'),
    holder_count: count.describe('Number of wallets that hold it.'),
    risk_score: z
      .int()
      .min(0)
      .max(100)
      .describe('Risk score of the audit, 0 to 100; higher is worse.')
      .meta({ 'x-assumption': ['A36'] }),
    risk_level: openEnum('low', 'medium', 'high', 'critical')
      .describe('Level of the score in a word.')
      .meta({ 'x-assumption': ['A36'] }),
    created_at: timestamp.describe('Time of the creation of the token, UTC.'),
  })
  .describe('A token.')
  .meta({ 'x-assumption': ['A7'] })
