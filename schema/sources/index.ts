import type { z } from 'zod'
import type { Declared } from '../fields.ts'
import type { sourceSchemas } from './schemas.ts'

type Schemas = typeof sourceSchemas

/** The body by provider and event type. `*` has what all types share. */
export type SourceEvents = {
  [P in keyof Schemas]: { [T in keyof Schemas[P]]: Declared<z.infer<Schemas[P][T]>> }
}

/** A known sender, as in the setting `sources`. */
export type ProviderName = keyof SourceEvents

/** The body of an event of this provider and type. Undocumented types have what all types share. */
export type SourceEventOf<P extends keyof SourceEvents, T extends string> = T extends keyof SourceEvents[P]
  ? SourceEvents[P][T]
  : SourceEvents[P]['*']

/** The body of an event of a provider: a union of the types with a schema, or what all types share if there are none. */
export type SourceEvent<P extends keyof SourceEvents> =
  Exclude<keyof SourceEvents[P], '*'> extends never
    ? SourceEvents[P]['*']
    : SourceEvents[P][Exclude<keyof SourceEvents[P], '*'>]

export type AlchemyEvent = SourceEvent<'alchemy'>
export type QuickNodeEvent = SourceEvent<'quicknode'>
export type QuickAlertsEvent = SourceEvent<'quicknode-alerts'>
export type HeliusEvent = SourceEvent<'helius'>
export type MoralisEvent = SourceEvent<'moralis'>
export type TenderlyEvent = SourceEvent<'tenderly'>
export type OpenZeppelinMonitorEvent = SourceEvent<'openzeppelin-monitor'>
export type GoldskyEvent = SourceEvent<'goldsky'>
export type CoinbaseCdpEvent = SourceEvent<'coinbase-cdp'>
export type CircleEvent = SourceEvent<'circle'>
export type FireblocksEvent = SourceEvent<'fireblocks'>
export type StripeEvent = SourceEvent<'stripe'>
export type GitHubEvent = SourceEvent<'github'>
export type StandardWebhooksEvent = SourceEvent<'standard-webhooks'>
