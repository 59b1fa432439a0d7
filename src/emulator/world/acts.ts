import { isHoneypot, isRenounced } from './audit.ts'
import { findToken, readAddress, type ActOf, type Result } from './act-targets.ts'
import { addAlert, findAlert, removeAlert } from './alerts.ts'
import { fire } from './firing.ts'
import { createListedToken } from './token-birth.ts'
import { makeHoneypot, removeLiquidity, transferOwner } from './contracts.ts'
import { tokenAt, walletAt, writeLog, type Core } from './core.ts'
import { readLiquidityUsd, readPositive, readRemovedBps, readSensitivity } from './limits.ts'
import { openWallet } from './wallets.ts'
import { changeActivity } from './pace.ts'
import { canWithdraw } from './pool.ts'
import { WorldRefusal, type WorldAct, type WorldActs } from './port.ts'
import { tellStory } from './telling.ts'
import { priceMove, swapAll, trade } from './trading-acts.ts'
import { graduateNow, trigger } from './triggers.ts'

/** What is done from outside: by the control API, the seed file, and the accounts that set alerts. */
export function createActs(core: Core): WorldActs {
  return {
    apply(act) {
      const { acts } = core.state.streams
      const { drawn } = acts
      try {
        return apply(core, act)
      } catch (error) {
        // What is refused has drawn nothing either.
        acts.drawn = drawn
        throw error
      }
    },
  }
}

function apply(core: Core, act: WorldAct): Result {
  switch (act.kind) {
    case 'trade':
      return trade(core, act)
    case 'swap':
      return swapAll(core, act)
    case 'list':
      return list(core, act)
    case 'rug':
      return rug(core, act)
    case 'transfer-owner':
      return transfer(core, act)
    case 'honeypot': {
      const token = findToken(core, act.network, act.token)
      if (isHoneypot(tokenAt(core, token))) throw new WorldRefusal(`${act.token} is a honeypot already`)
      makeHoneypot(core, token, act.honeypot)
      return { token: tokenAt(core, token).address, honeypot: act.honeypot }
    }
    case 'graduate':
      return graduateNow(core, act.token === undefined ? null : findToken(core, 'solana', act.token), act)
    case 'price-move':
      return priceMove(core, act)
    case 'network-status':
      core.state.networks[act.network].status = act.status
      writeLog(core, 'status-changed', -1)
      return { network: act.network, status: act.status }
    case 'trigger':
      return trigger(core, act.type)
    case 'story':
      return tellStory(core, act.story)
    case 'activity':
      changeActivity(core, act.factor)
      return { activity: act.factor }
    case 'track': {
      const wallet = openWallet(core, act.network, readAddress('wallet', act.network, act.wallet))
      walletAt(core, wallet).isTracked = act.isTracked
      return { wallet: walletAt(core, wallet).address, isTracked: act.isTracked }
    }
    case 'thresholds':
      return setThresholds(core, act)
    case 'add-alert':
      return addAlert(core, act)
    case 'remove-alert':
      return removeAlert(core, act.alertId)
    case 'fire-alert':
      return fire(core, findAlert(core, act.alertId))
  }
}

function list(core: Core, { network, symbol, name, liquidityUsd: usd }: ActOf<'list'>): Result {
  const liquidityUsd = readLiquidityUsd(usd)
  const token = createListedToken(core, { network, symbol, name, liquidityUsd, allocationPct: 20, isAnnounced: true })
  const { address, pool } = tokenAt(core, token)
  return { token: address, pool: pool?.address, network }
}

function rug(core: Core, { network, token: address, percent }: ActOf<'rug'>): Result {
  const token = findToken(core, network, address)
  const bps = readRemovedBps(percent)
  const { pool } = tokenAt(core, token)
  if (pool === null) throw new WorldRefusal(`${address} has no pool yet: there is no liquidity to take`)
  if (!canWithdraw(pool, bps)) throw new WorldRefusal(`the pool of ${address} is all but empty: nothing can be taken`)
  removeLiquidity(core, token, bps)
  return { token: tokenAt(core, token).address, removedPct: bps / 100 }
}

function transfer(core: Core, act: ActOf<'transfer-owner'>): Result {
  const token = findToken(core, act.network, act.token)
  const to = act.to === null ? null : readAddress('to', act.network, act.to)
  const { address, owner } = tokenAt(core, token)
  if (isRenounced(owner)) throw new WorldRefusal(`${address} has no owner any more: nobody can pass it on`)
  if (to === owner) throw new WorldRefusal(`${address} belongs to ${owner} already: expected somebody else`)
  transferOwner(core, token, to !== null && isRenounced(to) ? null : to)
  return { token: address, owner: tokenAt(core, token).owner }
}

function setThresholds({ state: { rules } }: Core, act: ActOf<'thresholds'>): Result {
  const {
    largeTradeUsd = rules.largeTradeUsd,
    milestonesUsd = rules.milestonesUsd,
    riskSensitivity = rules.riskSensitivity,
  } = act
  const changed = {
    largeTradeUsd: readPositive('largeTradeUsd', largeTradeUsd),
    milestonesUsd: [...new Set(milestonesUsd.map((usd) => readPositive('milestonesUsd', usd)))].toSorted(
      (a, b) => a - b,
    ),
    riskSensitivity: readSensitivity(riskSensitivity),
  }
  Object.assign(rules, changed)
  return changed
}
