import { z } from 'zod'
import { toEventSchema } from '../envelope.ts'
import { network, open, poolAddress, symbol, tokenAddress, tokenName, txHash, usd } from '../fields.ts'

/** `data` of `token.new_listing` (R94). Unknown fields are kept (R125). */
const tokenNewListingData = z.looseObject({
  token_address: tokenAddress,
  network,
  symbol,
  name: tokenName,
  dex: open.describe('Name of the exchange; an open set.'),
  pool_address: poolAddress,
  initial_liquidity_usd: usd.describe('Liquidity at creation, in USD.'),
  listing_tx: txHash.describe('Transaction that created the pool.'),
})

/** A whole `token.new_listing` event (R94). */
export const tokenNewListingEvent = toEventSchema(
  'token.new_listing',
  'New liquidity pool for a previously unseen token detected on a DEX.',
  tokenNewListingData,
)
