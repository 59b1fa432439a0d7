import { z } from 'zod'
import { toEventSchema } from '../envelope.ts'
import { network, symbol, tokenAddress, txHash, usd, walletAddress } from '../fields.ts'

/** `data` of `wallet.new_position` (R97). Unknown fields are kept (R125). */
const walletNewPositionData = z.looseObject({
  wallet_address: walletAddress,
  network,
  token_address: tokenAddress,
  token_symbol: symbol,
  entry_price_usd: usd.describe('Price of one token in USD.'),
  amount_usd: usd.describe('Size of the purchase in USD.'),
  tx_hash: txHash,
})

/** A whole `wallet.new_position` event (R97). */
export const walletNewPositionEvent = toEventSchema(
  'wallet.new_position',
  'Tracked wallet bought a token it had not held.',
  walletNewPositionData,
)
