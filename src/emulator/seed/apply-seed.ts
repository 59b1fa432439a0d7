import { networkIds } from '../../../schema/index.ts'
import { InboxError } from '../../base/errors.ts'
import type { Accounts } from '../accounts/port.ts'
import { WorldRefusal, type World, type WorldCommand } from '../world/port.ts'
import type { Seed } from './schema.ts'

/** A value that was drawn. It is shown once, to whoever made the emulator begin. */
export interface DrawnSecret {
  readonly kind: 'api-key' | 'webhook-secret' | 'alert-secret'
  /** What it is of, for people. */
  readonly of: string
  readonly value: string
}

/**
 * What is so from the beginning of history on: who is tracked, and what counts as much (A34).
 *
 * @throws InboxError `config_invalid` that names what the world cannot applyCommand
 */
export function prepareWorld(seed: Seed, acts: World['acts']): void {
  for (const { network, wallet } of seed.tracked) {
    applyCommand(acts, 'tracked', { kind: 'track', network, wallet, isTracked: true })
  }
  if (Object.keys(seed.thresholds).length > 0)
    applyCommand(acts, 'thresholds', { kind: 'thresholds', ...seed.thresholds })
}

/**
 * What comes when history has caught up with the present: accounts and what is theirs, the status of networks, stories. Gives
 * what was drawn.
 *
 * @throws InboxError `config_invalid` that names what the world cannot applyCommand
 */
export function applySeed(seed: Seed, accounts: Accounts, acts: World['acts']): readonly DrawnSecret[] {
  const drawn = seed.accounts.flatMap((account) => addAccount(account, accounts))
  for (const network of networkIds) {
    const status = seed.networks[network]
    if (status !== undefined) applyCommand(acts, `networks.${network}`, { kind: 'network-status', network, status })
  }
  for (const story of seed.stories) applyCommand(acts, 'stories', { kind: 'story', story })
  return drawn
}

function addAccount(given: Seed['accounts'][number], accounts: Accounts): DrawnSecret[] {
  const { accountId, alertSecret } = accounts.putAccount(given.name, given.plan)
  const drawn: DrawnSecret[] = []
  if (given.alertSecret !== undefined) accounts.setAlertSecret(accountId, given.alertSecret)
  else if (given.alerts.length > 0) drawn.push({ kind: 'alert-secret', of: given.name, value: alertSecret })

  for (const { name, scopes, key } of given.keys) {
    const { value } = accounts.addKey(accountId, { name, scopes, value: key })
    if (key === undefined) drawn.push({ kind: 'api-key', of: `${given.name}, ${name}`, value })
  }
  for (const webhook of given.webhooks) {
    const { webhook: added, isGenerated } = accounts.addWebhook(accountId, webhook)
    if (isGenerated) drawn.push({ kind: 'webhook-secret', of: `${given.name}, ${added.url}`, value: added.secret })
  }
  for (const { type, address, network, threshold, webhookUrl, label = null } of given.alerts) {
    const watched = { type, address, network, threshold, webhookUrl, label }
    asConfigError(`alerts of ${given.name}`, () => accounts.addAlert(accountId, watched))
  }
  return drawn
}

function applyCommand(acts: World['acts'], place: string, command: WorldCommand): void {
  asConfigError(place, () => acts.apply(command))
}

function asConfigError(place: string, fn: () => unknown): void {
  try {
    fn()
  } catch (error) {
    if (!(error instanceof WorldRefusal)) throw error
    throw new InboxError('config_invalid', `${place}: ${error.message}`, { cause: error })
  }
}
