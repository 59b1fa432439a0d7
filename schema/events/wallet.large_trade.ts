import { z } from 'zod'
import { toEventSchema } from '../envelope.ts'
import { network, open, symbol, tokenAddress, txHash, usd, walletAddress } from '../fields.ts'

/** `data` of `wallet.large_trade` (R96). Unknown fields are kept (R125). */
const walletLargeTradeData = z.looseObject({
  wallet_address: walletAddress,
  network,
  trade_type: open.describe('Kind of trade, such as buy, sell or swap; an open set.'),
  token_address: tokenAddress,
  token_symbol: symbol,
  amount_usd: usd.describe('Size of the trade in USD.'),
  tx_hash: txHash,
})

/** A whole `wallet.large_trade` event (R96). */
export const walletLargeTradeEvent = toEventSchema(
  'wallet.large_trade',
  'Tracked wallet traded above the configured dollar threshold.',
  walletLargeTradeData,
)
