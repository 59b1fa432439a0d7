import { z } from 'zod'
import type { Declared } from '../fields.ts'
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

type Schemas = typeof sourceSchemas

/** The body by provider and event type. `*` has what all types share. */
export type SourceEvents = {
  [P in keyof Schemas]: { [T in keyof Schemas[P]]: Declared<z.infer<Schemas[P][T]>> }
}

/** The body of an event of this provider and type. Undocumented types have what all types share. */
export type SourceEventOf<P extends keyof SourceEvents, T extends string> = T extends keyof SourceEvents[P]
  ? SourceEvents[P][T]
  : SourceEvents[P]['*']

/** A body of any type: a union of the documented types if the sender has them. */
type EventOfProvider<P extends keyof SourceEvents> =
  Exclude<keyof SourceEvents[P], '*'> extends never
    ? SourceEvents[P]['*']
    : SourceEvents[P][Exclude<keyof SourceEvents[P], '*'>]

export type AlchemyEvent = EventOfProvider<'alchemy'>
export type QuickNodeEvent = EventOfProvider<'quicknode'>
export type QuickAlertsEvent = EventOfProvider<'quicknode-alerts'>
export type HeliusEvent = EventOfProvider<'helius'>
export type MoralisEvent = EventOfProvider<'moralis'>
export type TenderlyEvent = EventOfProvider<'tenderly'>
export type OpenZeppelinMonitorEvent = EventOfProvider<'openzeppelin-monitor'>
export type GoldskyEvent = EventOfProvider<'goldsky'>
export type CoinbaseCdpEvent = EventOfProvider<'coinbase-cdp'>
export type CircleEvent = EventOfProvider<'circle'>
export type FireblocksEvent = EventOfProvider<'fireblocks'>
export type StripeEvent = EventOfProvider<'stripe'>
export type GitHubEvent = EventOfProvider<'github'>
export type StandardWebhooksEvent = EventOfProvider<'standard-webhooks'>
