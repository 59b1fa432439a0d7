import { z } from 'zod'
import { toEventSchema } from '../envelope.ts'
import { open, symbol, tokenAddress, tokenName, txHash } from '../fields.ts'

/** `data` of `pump.graduation` (R102). Unknown fields are kept (R125). */
const pumpGraduationData = z.looseObject({
  token_address: tokenAddress,
  symbol,
  name: tokenName,
  bonding_curve_completed: z.boolean().describe('Whether the bonding curve is complete.'),
  sol_raised: z.number().describe('Native coin raised on the curve, about 85.'),
  raydium_pool: open.describe('Address of the pool it migrated to.'),
  migration_tx: txHash.describe('Transaction of the migration.'),
})

/** A whole `pump.graduation` event (R102). */
export const pumpGraduationEvent = toEventSchema(
  'pump.graduation',
  'A launch-platform token completed its bonding curve and migrated to a decentralized exchange pool.',
  pumpGraduationData,
)
