import { z } from 'zod'
import {
  assumed,
  count,
  network,
  openEnum,
  percent,
  symbol,
  timestamp,
  tokenAddress,
  tokenName,
  txHash,
  usd,
  walletAddress,
} from './fields.ts'
import { timeframes } from './parameters.ts'

/** `data` of a wallet overview: the ten fields of R16. */
export const walletOverview = z
  .object({
    address: walletAddress,
    network,
    portfolio_value_usd: usd.describe('Total value of the portfolio in USD.'),
    total_tokens_held: count.describe('How many tokens the wallet holds: `total` of its portfolio.'),
    total_trades_all_time: count.describe('How many trades the wallet has made: `total` of its trades.'),
    first_active: timestamp.describe('When the wallet was first active, UTC.'),
    last_active: timestamp.describe('When the wallet was last active, UTC.'),
    is_whale: assumed(z.boolean(), 'A5').describe(
      'Whether it is a whale: a portfolio of 1,000,000 USD or more, or 1 % or more of the supply of a token.',
    ),
    pnl_30d_usd: usd.describe('Profit or loss over 30 days in USD: `pnl.total_usd` of that timeframe.'),
    roi_30d_pct: assumed(percent, 'A13').describe('Return over 30 days in percent: `pnl.roi_pct` of that timeframe.'),
  })
  .describe('Overview of a wallet.')

/** An element of `data` of a portfolio: the ten fields of R19. Mind `unrealised`, which PnL spells with a z (R20). */
export const position = z
  .object({
    token_address: tokenAddress,
    symbol,
    name: tokenName,
    balance: assumed(z.number(), 'A16').describe('How many of the token the wallet holds.'),
    price_usd: usd.describe('Price of one in USD.'),
    value_usd: usd.describe('What the balance is worth in USD.'),
    cost_basis_usd: assumed(usd, 'A12').describe('What it cost in USD, by average cost, fees included.'),
    unrealised_pnl_usd: usd.describe('Value less cost basis, in USD.'),
    unrealised_pnl_pct: percent.describe('The same in percent of the cost basis.'),
    allocation_pct: percent.describe("Share of the wallet's portfolio in percent."),
  })
  .describe('A token that the wallet holds.')

/** `data` of a PnL summary (R21–R26). */
export const pnlSummary = z
  .object({
    wallet: walletAddress,
    network,
    timeframe: z.enum(timeframes).describe('The lookback window asked for, or the default.'),
    pnl: z
      .object({
        realized_usd: assumed(usd, 'A12', 'A13').describe(
          'Profit or loss locked in from fully closed positions, in USD.',
        ),
        unrealized_usd: assumed(usd, 'A12', 'A13').describe(
          'Gain or loss on open positions at present prices, in USD.',
        ),
        total_usd: usd.describe('Realized plus unrealized, in USD.'),
        roi_pct: assumed(percent, 'A13').describe('Return in percent of the cost basis; 0 where there was no cost.'),
      })
      .describe('Profit and loss in USD at current rates.'),
  })
  .describe('Profit and loss of a wallet.')

const tradeSide = z.object({
  address: tokenAddress,
  symbol,
  amount: assumed(z.number(), 'A16').describe('How many of the token.'),
  value_usd: usd.describe('What they were worth in USD at the time of the trade.'),
})

/** An element of `data` of a trade history: the eight fields of R28. */
export const trade = z
  .object({
    tx_hash: txHash,
    type: openEnum('buy', 'sell', 'swap').describe('What kind of trade it was; more kinds may come.'),
    timestamp: timestamp.describe('When the trade was made, UTC.'),
    token_in: tradeSide.describe('What the wallet paid with.'),
    token_out: tradeSide.describe('What the wallet got.'),
    dex: z.string().describe('Name of the exchange used.'),
    fee_usd: usd.describe('Fee in USD.'),
    price_impact_pct: percent.describe('How far the trade moved the price, in percent.'),
  })
  .describe('A trade of a wallet.')
