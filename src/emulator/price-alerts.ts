import { networkIds } from '../../schema/index.ts'
import { LimitReached, type Account, type Accounts } from './accounts/accounts.ts'
import type { RandomStream } from './random.ts'
import type { Token } from './world/port.ts'
import type { World } from './world/world.ts'

/** Minimum liquidity: below it a single trade moves the price too far. */
const minLiquidityUsd = 20_000
/** Distance of thresholds from the present price, in percent. */
const [minDistancePct, maxDistancePct] = [1, 6]
const labelOfTriggers = 'set to be triggered'
/** Maximum alerts of an account that were created to be triggered. The oldest are removed first. */
const maxTriggerAlerts = 20

export interface PriceAlertsOptions {
  readonly accounts: Accounts
  readonly world: Pick<World, 'views'>
  readonly stream: RandomStream
}

/**
 * Creates `count` alerts for an account near the present prices of the larger tokens, networks in turn, so that prices
 * cross them on their own. Creates none for an account without a webhook.
 */
export function setPriceAlerts(options: PriceAlertsOptions, account: Account, count: number): void {
  const tokens = largerTokens(options.world)
  if (tokens.length === 0) return
  for (let index = 0; index < count; index++) {
    const token = tokens[index % tokens.length]
    if (token !== undefined) setAlert(options, account, token, 'standing')
  }
}

/**
 * Creates an alert for the first account with a webhook, so that the world can make a price cross it. False if there is
 * no such account, or if it is at its limit of alerts.
 */
export function setAlertToTrigger(options: PriceAlertsOptions): boolean {
  const { accounts, world, stream } = options
  const account = accounts.accounts().find(({ accountId }) => accounts.webhooks(accountId).length > 0)
  const tokens = largerTokens(world)
  if (account === undefined || tokens.length === 0) return false
  const old = accounts.alerts(account.accountId).filter(({ label }) => label === labelOfTriggers)
  for (const alert of old.slice(0, Math.max(0, old.length - maxTriggerAlerts + 1))) accounts.removeAlert(alert)
  try {
    setAlert(options, account, stream.pick(tokens), labelOfTriggers)
  } catch (error) {
    if (error instanceof LimitReached) return false
    throw error
  }
  return true
}

function setAlert({ accounts, stream }: PriceAlertsOptions, account: Account, token: Token, label: string): void {
  const [webhook] = accounts.webhooks(account.accountId)
  if (webhook === undefined) return
  const isAbove = stream.uniform() < 0.5
  const distance = stream.between(minDistancePct, maxDistancePct) / 100
  accounts.addAlert(account.accountId, {
    type: isAbove ? 'price_above' : 'price_below',
    address: token.address,
    network: token.network,
    threshold: Number((token.price_usd * (isAbove ? 1 + distance : 1 - distance)).toPrecision(6)),
    webhookUrl: webhook.url,
    label,
  })
}

/** Larger tokens: networks in turn, largest first within each. */
function largerTokens({ views }: Pick<World, 'views'>): readonly Token[] {
  const tokens = views
    .tokens()
    .map((token) => views.token(token))
    .filter((token) => token.liquidity_usd >= minLiquidityUsd && token.price_usd > 0)
  const byNetwork = networkIds.map((network) =>
    tokens.filter((token) => token.network === network).toSorted((a, b) => b.liquidity_usd - a.liquidity_usd),
  )
  const longest = Math.max(...byNetwork.map(({ length }) => length))
  return Array.from({ length: longest }, (_, rank) =>
    byNetwork.flatMap((sorted) => sorted.slice(rank, rank + 1)),
  ).flat()
}
