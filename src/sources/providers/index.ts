import type { ProviderName } from '../../../schema/index.ts'
import type { Provider } from '../provider.ts'
import { alchemy } from './alchemy.ts'
import { circle } from './circle.ts'
import { coinbaseCdp } from './coinbase-cdp.ts'
import { fireblocks } from './fireblocks.ts'
import { github } from './github.ts'
import { goldsky } from './goldsky.ts'
import { helius } from './helius.ts'
import { moralis } from './moralis.ts'
import { openzeppelinMonitor } from './openzeppelin-monitor.ts'
import { quicknodeAlerts } from './quicknode-alerts.ts'
import { quicknode } from './quicknode.ts'
import { standardWebhooks } from './standard-webhooks.ts'
import { stripe } from './stripe.ts'
import { tenderly } from './tenderly.ts'

/** All providers by the name that settings use. */
export const providers = {
  alchemy,
  quicknode,
  'quicknode-alerts': quicknodeAlerts,
  helius,
  moralis,
  tenderly,
  'openzeppelin-monitor': openzeppelinMonitor,
  goldsky,
  'coinbase-cdp': coinbaseCdp,
  circle,
  fireblocks,
  stripe,
  github,
  'standard-webhooks': standardWebhooks,
} as const satisfies Readonly<Record<ProviderName, Provider>>

export const providerNames = Object.keys(providers) as readonly ProviderName[]

export function isProviderName(name: string): name is ProviderName {
  return Object.hasOwn(providers, name)
}
