import { z } from 'zod'
import { assumed, symbol, tokenName } from '../fields.ts'
import { exampleIds } from './examples.ts'
import {
  count,
  network,
  openEnum,
  percent,
  resource,
  timestamp,
  tokenAddress,
  txHash,
  usd,
  walletAddress,
} from './fields.ts'
import { timeframes } from './parameters.ts'

/** `data` of a wallet overview: the ten fields of R16. */
export const walletOverview = resource(
  'Overview of a wallet.',
  {
    address: walletAddress,
    network,
    portfolio_value_usd: usd.describe('Total value of the portfolio in USD.'),
    total_tokens_held: count.describe('Number of held tokens: `total` of the portfolio.'),
    total_trades_all_time: count.describe('Number of trades: `total` of the trade history.'),
    first_active: timestamp.describe('Time of the first activity, UTC.'),
    last_active: timestamp.describe('Time of the last activity, UTC.'),
    is_whale: assumed(z.boolean(), 'A5').describe(
      'True for a whale: a portfolio of at least 1,000,000 USD, or at least 1 % of the supply of a token.',
    ),
    pnl_30d_usd: usd.describe('Profit or loss over 30 days in USD: `pnl.total_usd` of that timeframe.'),
    roi_30d_pct: assumed(percent, 'A13').describe('Return over 30 days in percent: `pnl.roi_pct` of that timeframe.'),
  },
  {
    address: exampleIds.wallet,
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
)

/** An element of `data` of a portfolio: the ten fields of R19. Positions spell `unrealised` with an s, PnL spells it with a z (R20). */
export const position = resource(
  'A position of a wallet.',
  {
    token_address: tokenAddress,
    symbol,
    name: tokenName,
    balance: assumed(z.number(), 'A16').describe('Amount of the token.'),
    price_usd: usd.describe('Price of one token in USD.'),
    value_usd: usd.describe('Value of the balance in USD.'),
    cost_basis_usd: assumed(usd, 'A12').describe('Average cost in USD, fees included.'),
    unrealised_pnl_usd: usd.describe('Value minus cost basis, in USD.'),
    unrealised_pnl_pct: percent.describe('Value minus cost basis, in percent of the cost basis.'),
    allocation_pct: percent.describe("Share of the wallet's portfolio in percent."),
  },
  {
    token_address: exampleIds.token,
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
)

/** `data` of a PnL summary (R21–R26). */
export const pnlSummary = resource(
  'Profit and loss of a wallet.',
  {
    wallet: walletAddress,
    network,
    timeframe: z.enum(timeframes).describe('Requested lookback window, or the default.'),
    pnl: z
      .object({
        realized_usd: assumed(usd, 'A12', 'A13').describe(
          'Profit or loss locked in from fully closed positions, in USD.',
        ),
        unrealized_usd: assumed(usd, 'A12', 'A13').describe(
          'Gain or loss on open positions at present prices, in USD.',
        ),
        total_usd: usd.describe('Realized plus unrealized, in USD.'),
        roi_pct: assumed(percent, 'A13').describe('Return in percent of the cost basis; 0 without a cost.'),
      })
      .describe('Profit and loss in USD at current rates.'),
  },
  {
    wallet: exampleIds.wallet,
    network: 'ethereum',
    timeframe: '30d',
    pnl: { realized_usd: 1500, unrealized_usd: 2000, total_usd: 3500, roi_pct: 17.5 },
  },
)

const tradeSide = z.object({
  address: tokenAddress,
  symbol,
  amount: assumed(z.number(), 'A16').describe('Amount of the token.'),
  value_usd: usd.describe('Value in USD at the time of the trade.'),
})

/** An element of `data` of a trade history: the eight fields of R28. */
export const trade = resource(
  'A trade of a wallet.',
  {
    tx_hash: txHash,
    type: openEnum('buy', 'sell', 'swap').describe('Kind of trade; more kinds may come.'),
    timestamp: timestamp.describe('Time of the trade, UTC.'),
    token_in: tradeSide.describe('Token that the wallet sold.'),
    token_out: tradeSide.describe('Token that the wallet bought.'),
    dex: z.string().describe('Name of the exchange used.'),
    fee_usd: usd.describe('Fee in USD.'),
    price_impact_pct: percent.describe('Price change by the trade, in percent.'),
  },
  {
    tx_hash: exampleIds.tx,
    type: 'buy',
    timestamp: '2026-01-31T13:58:11.000Z',
    token_in: { address: exampleIds.coin, symbol: 'ETH', amount: 4, value_usd: 12_000 },
    token_out: { address: exampleIds.token, symbol: 'EXMPL', amount: 12_000, value_usd: 11_950 },
    dex: 'Uniswap V2',
    fee_usd: 36,
    price_impact_pct: 0.117,
  },
)
