import { z } from 'zod'
import { assumed } from '../fields.ts'
import { network, resource } from './fields.ts'

/** Ethereum as an element of the network list. */
export const exampleNetwork = {
  id: 'ethereum',
  name: 'Ethereum',
  chain_id: 1,
  native_currency: 'ETH',
  status: 'operational',
  features: ['tokens', 'wallets', 'contracts', 'liquidity'],
}

/** Status of a network (R39). */
export const networkStatuses = ['operational', 'degraded', 'maintenance'] as const
export type NetworkStatus = (typeof networkStatuses)[number]
/** Endpoint groups of a network (R40). Every network of the emulator has all of them. */
export const networkFeatures = ['tokens', 'wallets', 'contracts', 'liquidity'] as const

/** An element of `data` of the network list: the six fields of R38. */
export const networkInfo = resource(
  'A supported network.',
  {
    id: network.describe('Identifier used in all other requests.'),
    name: z.string().describe('Name for people.'),
    chain_id: assumed(z.int().min(1).nullable(), 'A6').describe('EVM chain id; null for other networks.'),
    native_currency: assumed(z.string(), 'A6').describe('Symbol of the coin for fees.'),
    status: assumed(z.enum(networkStatuses), 'A18').describe(
      'In maintenance, requests get 503. If degraded, responses take longer.',
    ),
    features: assumed(z.array(z.enum(networkFeatures)), 'A2').describe(
      'Endpoint groups that support it. No operation of `contracts` and `liquidity` is documented: they answer 501.',
    ),
  },
  exampleNetwork,
)
