import { takeDue } from '../sorted-list.ts'
import { buyAsPlanned, makeMarket, retire, wake } from './agents.ts'
import { noticePrices, noticeRested } from './alerts.ts'
import { announce } from './token-birth.ts'
import { plan, tokenAt, type Core } from './core.ts'
import { dealSellAll } from './dealing.ts'
import { coins } from './networks.ts'
import { noticeContract } from './rules.ts'
import { continueCrash, continueLaunch, continueScam, tellDaily } from './stories.ts'
import type { Task } from './state.ts'

const minuteMs = 60_000
const hourMs = 3_600_000
/** Standard deviation of a coin's price in a minute: 60 % a year. */
const minuteStep = 0.000_828

/** Lets everything happen that is due up to a moment, in order. */
export function runUntil(core: Core, at: number): void {
  const { state } = core
  for (let task = takeDue(state.agenda, at); task; task = takeDue(state.agenda, at)) {
    state.now = Math.max(state.now, task.at)
    run(core, task)
  }
  state.now = Math.max(state.now, at)
}

function run(core: Core, task: Task): void {
  switch (task.kind) {
    case 'minute':
      return passMinute(core)
    case 'market':
      return makeMarket(core, task.token)
    case 'audit':
      return auditAgain(core, task.token)
    case 'retire':
      return retire(core, task.token)
    case 'wake':
      return wake(core, task.wallet)
    case 'buy':
      return buyAsPlanned(core, task.wallet, task.token, task.usd)
    case 'sell':
      dealSellAll(core, task.wallet, task.token)
      return
    case 'announce':
      return announce(core, task.token, task.seq, task.liquidityMicro)
    case 'rested':
      return noticeRested(core, task.alertId)
    case 'daily':
      return tellDaily(core, task.story, task.round)
    case 'scam':
      return continueScam(core, task.token, task.step)
    case 'launch':
      return continueLaunch(core, task.token, task.left)
    case 'crash':
      return continueCrash(core, task.token, task.left)
  }
}

function auditAgain(core: Core, token: number): void {
  if (tokenAt(core, token).isAbandoned) return
  plan(core, { kind: 'audit', token }, hourMs)
  noticeContract(core, token)
}

/** Coins get dearer or cheaper, and with them every token in dollars. */
function passMinute(core: Core): void {
  plan(core, { kind: 'minute' }, minuteMs, false)
  for (const coin of coins) {
    const state = core.state.coins[coin]
    const step = BigInt(Math.round(core.chance.normal(state.stream) * minuteStep * 1e9))
    state.price += (state.price * step) / 1_000_000_000n
    state.prices.push(state.price)
  }
  noticePrices(core)
}
