import type { NetworkId } from '../../../schema/index.ts'
import type { Clock } from '../../base/clock.ts'
import type { World } from '../world/port.ts'
import { RestError } from './error.ts'
import type { RestSettings } from './settings.ts'

export interface NetworkGateOptions {
  readonly world: World
  readonly wall: Clock
  readonly settings: RestSettings
}

/**
 * What the status of a network does to requests about it (A18): in maintenance they are refused with `network_unavailable`;
 * degraded it lets them through after a while of real time. Gives null if there is nothing to wait for.
 */
export function createNetworkGate({ world, wall, settings }: NetworkGateOptions) {
  const { degradedMinMs, degradedMaxMs, maintenanceRetryAfterS } = settings

  return (network: NetworkId): Promise<void> | null => {
    const status = world.views.networkStatus(network)
    if (status === 'operational') return null
    if (status === 'maintenance') {
      throw new RestError('network_unavailable', `${network} is in maintenance; try again later, as Retry-After says`, {
        headers: { 'Retry-After': String(maintenanceRetryAfterS) },
      })
    }
    const ms = degradedMinMs + wall.random() * Math.max(0, degradedMaxMs - degradedMinMs)
    return new Promise((resolve) => wall.after(ms, resolve))
  }
}
