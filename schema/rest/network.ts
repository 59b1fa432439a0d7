import { z } from 'zod'
import { assumed, network } from './fields.ts'

/** What a network can be (R39). */
export const networkStatuses = ['operational', 'degraded', 'maintenance'] as const
export type NetworkStatus = (typeof networkStatuses)[number]
/** The groups that a network can have (R40). Every network of the emulator has all of them. */
export const networkFeatures = ['tokens', 'wallets', 'contracts', 'liquidity'] as const

/** An element of `data` of the network list: the six fields of R38. */
export const networkInfo = z
  .object({
    id: network.describe('Identifier used in all other requests.'),
    name: z.string().describe('Name for people.'),
    chain_id: assumed(z.int().min(1).nullable(), 'A6').describe('EVM chain id; null for networks that are not EVM.'),
    native_currency: assumed(z.string(), 'A6').describe('Symbol of the coin that fees are paid in.'),
    status: assumed(z.enum(networkStatuses), 'A18').describe(
      'Whether it works: in maintenance, requests for it are answered with 503; degraded, they take longer.',
    ),
    features: assumed(z.array(z.enum(networkFeatures)), 'A2').describe(
      'Groups of endpoints that know it. Of `contracts` and `liquidity` no operation is documented: they answer 501.',
    ),
  })
  .describe('A supported network.')
