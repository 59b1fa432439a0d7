import { networkIds } from '../../../schema/index.ts'
import { networkFeatures } from '../../../schema/rest/network.ts'
import { networkFacts } from '../world/networks.ts'
import type { World } from '../world/port.ts'
import type { HandlersOf } from './calls.ts'

/** The network directory (R38–R40, R59, A6). */
export function createNetworkHandlers({ views }: Pick<World, 'views'>): HandlersOf<'listNetworks'> {
  return {
    listNetworks: () => ({
      data: networkIds.map((id) => ({
        id,
        name: networkFacts[id].name,
        chain_id: networkFacts[id].chainId,
        native_currency: networkFacts[id].coin,
        status: views.networkStatus(id),
        features: [...networkFeatures],
      })),
      page: null,
    }),
  }
}
