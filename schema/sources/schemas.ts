import { z } from 'zod'
import { alchemy } from './alchemy.ts'
import { circle } from './circle.ts'
import { coinbaseCdp } from './coinbase-cdp.ts'
import { fireblocks } from './fireblocks.ts'
import { github } from './github.ts'
import { goldsky } from './goldsky.ts'
import { helius } from './helius.ts'
import { moralis } from './moralis.ts'
import { openzeppelinMonitor } from './openzeppelin-monitor.ts'
import { quicknode } from './quicknode.ts'
import { standardWebhooks } from './standard-webhooks.ts'
import { stripe } from './stripe.ts'
import { tenderly } from './tenderly.ts'

/** Documented bodies by provider and event type. `*` has what all types share. Unknown members are kept. */
export const sourceSchemas = {
  alchemy,
  quicknode,
  // The user chooses among several payloads.
  'quicknode-alerts': { '*': z.unknown() },
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
} as const satisfies Readonly<Record<string, Readonly<Record<'*', z.ZodType>>>>
