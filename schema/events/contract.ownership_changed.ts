import { z } from 'zod'
import { toEventSchema } from '../envelope.ts'
import { contractAddress, network, open, symbol, txHash } from '../fields.ts'

/** `data` of `contract.ownership_changed` (R101). Unknown fields are kept (R125). */
const contractOwnershipChangedData = z.looseObject({
  contract_address: contractAddress,
  network,
  symbol,
  previous_owner: open.describe('Address of the owner before.'),
  new_owner: open.describe('Address of the owner now; a zero address means that ownership was renounced.'),
  tx_hash: txHash,
})

/** A whole `contract.ownership_changed` event (R101). */
export const contractOwnershipChangedEvent = toEventSchema(
  'contract.ownership_changed',
  'Owner or admin authority of a contract transferred.',
  contractOwnershipChangedData,
)
