import { z } from 'zod'
import { assumed, symbol, tokenName } from '../fields.ts'
import { exampleIds } from './examples.ts'
import { count, network, openEnum, percent, resource, timestamp, tokenAddress, usd } from './fields.ts'

/** `data` of a token, and an element of a search (R64, R65). The service documents no field of it (A7). */
export const token = resource(
  'A token.',
  {
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
    risk_score: assumed(z.int().min(0).max(100).describe('Risk score of the audit, 0 to 100; higher is worse.'), 'A36'),
    risk_level: assumed(openEnum('low', 'medium', 'high', 'critical').describe('Risk level.'), 'A36'),
    created_at: timestamp.describe('Time of the creation of the token, UTC.'),
  },
  {
    address: exampleIds.token,
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
  'A7',
)
