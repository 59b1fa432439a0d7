import type { AlertType } from '../../../schema/rest/alert.ts'
import type { Scope } from '../../../schema/rest/scopes.ts'
import { namesOf } from '../ui/names.ts'
import type { Archetype, StoryName } from '../../emulator/world/port.ts'

export { eventTypes, networks } from '../ui/names.ts'

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
