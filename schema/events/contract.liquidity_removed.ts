import { z } from 'zod'
import { toEventSchema } from '../envelope.ts'
import { contractAddress, network, percent, poolAddress, symbol, txHash, usd } from '../fields.ts'

/** `data` of `contract.liquidity_removed` (R100). Unknown fields are kept (R125). */
const contractLiquidityRemovedData = z.looseObject({
  contract_address: contractAddress,
  network,
  symbol,
  pool_address: poolAddress,
  liquidity_removed_usd: usd.describe('Liquidity that left the pool, in USD.'),
  liquidity_removed_pct: percent.describe('Share of the liquidity that left the pool, percent.'),
  remaining_liquidity_usd: usd.describe('Liquidity still in the pool, in USD.'),
  tx_hash: txHash,
})

/** A whole `contract.liquidity_removed` event (R100). */
export const contractLiquidityRemovedEvent = toEventSchema(
  'contract.liquidity_removed',
  'Significant liquidity removed from a pool.',
  contractLiquidityRemovedData,
)
