import type { EventType, NetworkId } from '../../../schema/index.ts'
import type { AlertType } from '../../../schema/rest/alert.ts'
import type { Scope } from '../../../schema/rest/scopes.ts'
import type { Archetype, StoryName } from '../world/port.ts'

// The names that forms offer. The service's own lists come with its schemas, which a page has no use for; each list here
// is a record, so that one that lacks a name, or has one too many, does not compile.

function namesOf<T extends string>(record: Readonly<Record<T, unknown>>): readonly T[] {
  return Object.keys(record) as T[]
}

export const eventTypes = namesOf<EventType>({
  'token.price_alert': 1,
  'token.new_listing': 1,
  'token.risk_change': 1,
  'wallet.large_trade': 1,
  'wallet.new_position': 1,
  'wallet.pnl_milestone': 1,
  'contract.honeypot_detected': 1,
  'contract.liquidity_removed': 1,
  'contract.ownership_changed': 1,
  'pump.graduation': 1,
})

export const networks = namesOf<NetworkId>({
  ethereum: 1,
  bnb: 1,
  solana: 1,
  polygon: 1,
  base: 1,
  avalanche: 1,
  arbitrum: 1,
})

/** What each scope is for. */
export const scopes: Readonly<Record<Scope, string>> = {
  'read:wallets': 'All wallet endpoints',
  'write:alerts': 'Create, read and delete alerts',
  'read:tokens': 'Read and search tokens',
  'write:webhooks': 'Create, read, change and delete webhooks',
}
export const scopeNames = namesOf(scopes)

/** What the threshold of each type of alert is in. */
export const alertTypes: Readonly<Record<AlertType, string>> = {
  price_above: 'USD for one token',
  price_below: 'USD for one token',
  volume_spike: 'percent more than usual in the last hour',
  whale_buy: 'USD of one trade',
  whale_sell: 'USD of one trade',
}
export const alertTypeNames = namesOf(alertTypes)

export const archetypes = namesOf<Archetype>({ whale: 1, sniper: 1, momentum: 1, dip: 1, bot: 1, dormant: 1 })

/** What happens in each story. */
export const stories: Readonly<Record<StoryName, string>> = {
  scam: 'A token is listed, its owner hides, nobody can sell it, and its liquidity goes.',
  launch: 'A token is launched on the bonding curve of Solana and bought up.',
  whale: 'A wallet of great wealth trades.',
  crash: 'A token loses its price step by step.',
  'bag-holder': 'A tracked wallet books a gain, then holds what falls.',
}
export const storyNames = namesOf(stories)
