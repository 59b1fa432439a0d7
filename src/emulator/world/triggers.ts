import { networkIds, type EventType } from '../../../schema/index.ts'
import { isOnPrice, isResting, isSpent } from './alerts.ts'
import { isHoneypot } from './audit.ts'
import { changeContract, makeHoneypot } from './contracts.ts'
import { holdingOf, tokenAt, walletAt, type Core, placeOf } from './core.ts'
import { canEarn, canMovePrice, earn, movePrice, openTracked } from './interventions.ts'
import { freshName } from './names.ts'
import { honeypotTypes, maxTradeUsd, WorldRefusal, type CommandResult } from './port.ts'
import { priceUsd } from './prices.ts'
import { auditOf } from './rules.ts'
import type { AlertState, ContractState } from './state.ts'
import {
  about,
  allEstablished,
  buyOnCurve,
  establishedOf,
  pickFrom,
  pickYoungToken,
  runStory,
  spend,
  trackedOf,
} from './stories.ts'
import { createCurveToken } from './token-creation.ts'

/** Runs the shortest story that leads to an event of the type. Throws `WorldRefusal` if there is none now. */
export function trigger(core: Core, type: EventType): CommandResult {
  return { type, ...triggers[type](core) }
}

const triggers: Readonly<Record<EventType, (core: Core) => CommandResult>> = {
  'token.price_alert': crossNearestThreshold,
  'token.new_listing': (core) => runStory(core, 'listing'),
  'token.risk_change': upgradeSomeContract,
  'wallet.large_trade': tradeLargely,
  'wallet.new_position': openSomePosition,
  'wallet.pnl_milestone': earnAMilestone,
  'contract.honeypot_detected': (core) => {
    const token = pickYoungToken(core)
    makeHoneypot(core, token, core.chance.pick(core.state.streams.acts, honeypotTypes))
    return about(core, token)
  },
  'contract.liquidity_removed': (core) => runStory(core, 'withdrawal'),
  'contract.ownership_changed': (core) => runStory(core, 'ownership'),
  'pump.graduation': (core) => graduateNow(core, null, {}),
}

interface Crossing {
  readonly alert: AlertState
  readonly token: number
  /** Prices to reach one after the other, in USD. A fired alert re-arms first, so its price goes back (A17). */
  readonly targets: readonly [number, ...number[]]
}

/** Moves the price nearest to the threshold of its alert across it. Throws `WorldRefusal` if no alert can fire now. */
function crossNearestThreshold(core: Core): CommandResult {
  const crossings = core.state.alerts.flatMap((alert) => planCrossing(core, alert) ?? [])
  const distanceOf = ({ token, targets: [target] }: Crossing) => Math.abs(Math.log(target / priceUsd(core, token)))
  const [nearest] = crossings.toSorted((a, b) => a.targets.length - b.targets.length || distanceOf(a) - distanceOf(b))
  if (nearest === undefined) {
    throw new WorldRefusal(
      'no price alert can fire now: create one with POST /v1/alerts, or let five minutes pass after the last one fired',
    )
  }
  const { token, targets, alert } = nearest
  for (const target of targets) movePrice(core, token, target / priceUsd(core, token))
  return { ...about(core, token), alert: alert.alertId }
}

/** How trades could make a price alert fire; null if they can't now. */
function planCrossing(core: Core, alert: AlertState): Crossing | null {
  const { type, network, address, threshold, isArmed } = alert
  const token = core.directory.tokens.get(placeOf(network, address))
  if (token === undefined || !isOnPrice(type) || isSpent(alert) || isResting(alert, core.state.now)) return null
  const direction = type === 'price_above' ? 1 : -1
  const beyond = threshold * (1 + direction * 0.001)
  // A re-crossing upwards needs a buyer; downwards it needs a sellable token.
  if (!isArmed && direction < 0 && isHoneypot(tokenAt(core, token))) return null
  const targets = isArmed ? ([beyond] as const) : ([threshold * (1 - direction * 0.006), beyond] as const)
  return canMovePrice(core, token, targets[0] / priceUsd(core, token)) ? { alert, token, targets } : null
}

/** Buys up the rest of a curve; without a token, launches a new one first. Throws `WorldRefusal` if the token has no curve. */
export function graduateNow(
  core: Core,
  requested: number | null,
  names: { symbol?: string; name?: string },
): CommandResult {
  if (requested !== null && tokenAt(core, requested).curve === null) {
    throw new WorldRefusal('the token is not on a bonding curve')
  }
  const newName = freshName(core.chance, core.state.streams.names)
  const token = requested ?? createCurveToken(core, names.symbol ?? newName.symbol, names.name ?? newName.name)
  while (tokenAt(core, token).curve !== null) buyOnCurve(core, token, core.state.streams.acts, 3, 9)
  return { token: tokenAt(core, token).address, pool: tokenAt(core, token).pool?.address }
}

function tradeLargely(core: Core): CommandResult {
  const { largeTradeUsd } = core.state.rules
  if (largeTradeUsd > maxTradeUsd) {
    throw new WorldRefusal(`largeTradeUsd must be at most ${maxTradeUsd} for this trigger (is ${largeTradeUsd})`)
  }
  const [wallet, token] = pickPair(core, pairsOf(core))
  const usd = Math.max(1, largeTradeUsd * core.chance.between(core.state.streams.acts, 1.1, 2))
  return spend(core, wallet, token, Math.min(usd, maxTradeUsd))
}

function openSomePosition(core: Core): CommandResult {
  const { acts } = core.state.streams
  const pairs = pairsOf(core)
  const fresh = pairs.filter(([wallet, token]) => holdingOf(core, wallet, token) === undefined)
  const [known, token] = pickPair(core, fresh.length > 0 ? fresh : pairs)
  // If every tracked wallet has held every token, a new wallet is opened.
  const wallet = fresh.length > 0 ? known : openTracked(core, tokenAt(core, token).network, 'newcomer')
  // Small, so that it is not also a large trade.
  const usd = core.chance.between(acts, 0.2, 1) * Math.min(5000, core.state.rules.largeTradeUsd * 0.9)
  return spend(core, wallet, token, Math.max(1, usd))
}

type Pair = readonly [wallet: number, token: number]

/** Pairs of tracked wallets and established tokens of the same network. */
function pairsOf(core: Core): readonly Pair[] {
  return networkIds.flatMap((network) =>
    trackedOf(core, network).flatMap((wallet) => establishedOf(core, network).map((token): Pair => [wallet, token])),
  )
}

function pickPair(core: Core, pairs: readonly Pair[]): Pair {
  return pickFrom(core, pairs, 'no tracked wallet can trade; track another one')
}

/** Each has more findings than the previous one; the last has none. */
const upgrades: readonly Partial<ContractState>[] = [
  { isMintable: true, isPausable: true },
  { isMintable: true, isPausable: true, hasHiddenOwner: true, hasBlacklist: true },
  { isMintable: true, isPausable: true, hasHiddenOwner: true, hasBlacklist: true, sellTaxBps: 2000 },
  { isMintable: false, isPausable: false, hasHiddenOwner: false, hasBlacklist: false, sellTaxBps: 0 },
]

/** Changes an established contract so that its score moves: more owner powers, or none. */
function upgradeSomeContract(core: Core): CommandResult {
  const possible = allEstablished(core).flatMap((token) => {
    const change = upgrades.find((upgrade) => isReported(core, token, upgrade))
    return change === undefined ? [] : [{ token, change }]
  })
  const { riskSensitivity } = core.state.rules
  const refusal = `no score can change by more than riskSensitivity (${riskSensitivity}); lower it`
  const { token, change } = pickFrom(core, possible, refusal)
  changeContract(core, token, change)
  return about(core, token)
}

/** True if a change moves the score far enough for an event. */
function isReported(core: Core, token: number, change: Partial<ContractState>): boolean {
  const audited = tokenAt(core, token)
  const changed = { ...audited, contract: { ...audited.contract, ...change } }
  const { score, checks } = auditOf(core, token, changed)
  const changesChecks = checks.join() !== audited.risk.checks.join()
  return changesChecks && Math.abs(score - audited.risk.toldScore) > core.state.rules.riskSensitivity
}

/** A new wallet buys and sells with a gain. */
function earnAMilestone(core: Core): CommandResult {
  const [milestone = 1] = core.state.rules.milestonesUsd
  const [stakeUsd, gainUsd] = [Math.max(1, milestone * 4), milestone * 1.01 + 0.01]
  const possible = allEstablished(core).filter((token) => canEarn(core, token, stakeUsd, gainUsd))
  const token = pickFrom(core, possible, `no trade earns ${milestone} USD at once; set a smaller milestone`)
  const { network } = tokenAt(core, token)
  const wallet = openTracked(core, network, 'earner')
  earn(core, wallet, token, stakeUsd, gainUsd)
  return { wallet: walletAt(core, wallet).address, network }
}
