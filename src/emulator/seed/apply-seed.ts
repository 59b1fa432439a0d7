import { networkIds } from '../../../schema/index.ts'
import { InboxError } from '../../base/errors.ts'
import type { Accounts } from '../accounts/accounts.ts'
import { WorldRefusal, type WorldCommand } from '../world/port.ts'
import type { World } from '../world/world.ts'
import type { Seed } from './schema.ts'

/** A generated secret. It is shown once, at the start. */
export interface DrawnSecret {
  readonly kind: 'api-key' | 'webhook-secret' | 'alert-secret'
  /** Its owner, for people. */
  readonly of: string
  readonly value: string
}

/**
 * Applies the settings that are valid from the start of history: tracked wallets and thresholds (A34).
 *
 * @throws InboxError `config_invalid` that names what the world refuses
 */
export function prepareWorld(seed: Seed, commands: World['commands']): void {
  for (const { network, wallet } of seed.tracked) {
    applyCommand(commands, 'tracked', { kind: 'track', network, wallet, isTracked: true })
  }
  if (Object.keys(seed.thresholds).length > 0)
    applyCommand(commands, 'thresholds', { kind: 'thresholds', ...seed.thresholds })
}

/**
 * Applies the other settings, once history has reached the present: accounts, network statuses, stories. Returns generated
 * secrets.
 *
 * @throws InboxError `config_invalid` that names what the world refuses
 */
export function applySeed(seed: Seed, accounts: Accounts, commands: World['commands']): readonly DrawnSecret[] {
  const drawn = seed.accounts.flatMap((account) => addAccount(account, accounts))
  for (const network of networkIds) {
    const status = seed.networks[network]
    if (status !== undefined) applyCommand(commands, `networks.${network}`, { kind: 'network-status', network, status })
  }
  for (const story of seed.stories) applyCommand(commands, 'stories', { kind: 'story', story })
  return drawn
}

function addAccount(account: Seed['accounts'][number], accounts: Accounts): DrawnSecret[] {
  const { accountId, alertSecret } = accounts.putAccount(account.name, account.plan)
  const drawn: DrawnSecret[] = []
  if (account.alertSecret !== undefined) accounts.setAlertSecret(accountId, account.alertSecret)
  else if (account.alerts.length > 0) drawn.push({ kind: 'alert-secret', of: account.name, value: alertSecret })

  for (const { name, scopes, key } of account.keys) {
    const { value } = accounts.addKey(accountId, { name, scopes, value: key })
    if (key === undefined) drawn.push({ kind: 'api-key', of: `${account.name}, ${name}`, value })
  }
  for (const webhook of account.webhooks) {
    const { webhook: added, isGenerated } = accounts.addWebhook(accountId, webhook)
    if (isGenerated) drawn.push({ kind: 'webhook-secret', of: `${account.name}, ${added.url}`, value: added.secret })
  }
  for (const { type, address, network, threshold, webhookUrl, label = null } of account.alerts) {
    const watched = { type, address, network, threshold, webhookUrl, label }
    asConfigError(`alerts of ${account.name}`, () => accounts.addAlert(accountId, watched))
  }
  return drawn
}

function applyCommand(commands: World['commands'], place: string, command: WorldCommand): void {
  asConfigError(place, () => commands.apply(command))
}

function asConfigError(place: string, fn: () => unknown): void {
  try {
    fn()
  } catch (error) {
    if (!(error instanceof WorldRefusal)) throw error
    throw new InboxError('config_invalid', `${place}: ${error.message}`, { cause: error })
  }
}
