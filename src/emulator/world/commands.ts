import type { NetworkId } from '../../../schema/index.ts'
import { addDue } from '../sorted-list.ts'
import { addAlert, removeAlert } from './alerts.ts'
import { isHoneypot, isRenounced } from './audit.ts'
import { makeHoneypot, removeLiquidity, transferOwner } from './contracts.ts'
import { type Core, coinsForUsd, holdingOf, minActivity, tokenAt, walletAt, numberChange, placeOf } from './core.ts'
import { executeBuy, executeSell, executeSwap } from './trading.ts'
import { canWithdraw, quotePurchase } from './exchange.ts'
import { movePrice } from './interventions.ts'
import type { Traded } from './market.ts'
import {
  allCommandBodies,
  WorldRefusal,
  type CommandKind,
  type CommandOf,
  type CommandResult,
  type WorldCommand,
} from './port.ts'
import { priceUsd, worth } from './prices.ts'
import { runStory } from './stories.ts'
import { createListedToken } from './token-creation.ts'
import { graduateNow, trigger } from './triggers.ts'
import { fund, openWallet } from './wallets.ts'

/** Commands from outside: from the control API, the seed file and the accounts' alerts. */
export function applyCommand(core: Core, { kind, ...body }: WorldCommand): CommandResult {
  const { data, error } = allCommandBodies[kind].safeParse(body)
  if (error !== undefined) {
    throw new WorldRefusal(error.issues.map(({ path, message }) => [...path, message].join(': ')).join('; '))
  }
  const handler = handlers[kind] as (core: Core, body: object) => CommandResult
  const { acts } = core.state.streams
  const { drawn } = acts
  try {
    return handler(core, data)
  } catch (error) {
    // A refused command must not use up random draws.
    acts.drawn = drawn
    throw error
  }
}

const handlers: { readonly [K in CommandKind]: (core: Core, command: CommandOf<K>) => CommandResult } = {
  trade,
  swap: swapAll,
  list,
  rug,
  'transfer-owner': transfer,
  honeypot(core, command) {
    const token = findToken(core, command.network, command.token)
    if (isHoneypot(tokenAt(core, token))) throw new WorldRefusal(`${command.token} is a honeypot already`)
    makeHoneypot(core, token, command.honeypot)
    return { token: tokenAt(core, token).address, honeypot: command.honeypot }
  },
  graduate: (core, command) =>
    graduateNow(core, command.token === undefined ? null : findToken(core, 'solana', command.token), command),
  'price-move': priceMove,
  'network-status'(core, { network, status }) {
    core.state.networks[network].status = status
    numberChange(core)
    return { network, status }
  },
  trigger: (core, { type }) => trigger(core, type),
  story: (core, { story }) => runStory(core, story),
  activity: (core, { factor }) => changeActivity(core, factor),
  track(core, command) {
    const wallet = openWallet(core, command.network, command.wallet)
    walletAt(core, wallet).isTracked = command.isTracked
    return { wallet: walletAt(core, wallet).address, isTracked: command.isTracked }
  },
  thresholds: setThresholds,
  'add-alert': addAlert,
  'remove-alert': (core, { alertId }) => removeAlert(core, alertId),
}

/** Index of a token. Throws `WorldRefusal` if there is none at the address. */
function findToken(core: Core, network: NetworkId, address: string): number {
  const token = core.directory.tokens.get(placeOf(network, address))
  if (token === undefined) throw new WorldRefusal(`token ${address} does not exist on ${network}`)
  return token
}

function list(core: Core, command: CommandOf<'list'>): CommandResult {
  const token = createListedToken(core, { ...command, allocationPct: 20, isAnnounced: true })
  const { address, pool, network } = tokenAt(core, token)
  return { token: address, pool: pool?.address, network }
}

function rug(core: Core, { network, token: address, percent }: CommandOf<'rug'>): CommandResult {
  const token = findToken(core, network, address)
  const bps = Math.round(percent * 100)
  const { pool } = tokenAt(core, token)
  if (pool === null) throw new WorldRefusal(`${address} has no pool yet, so there is no liquidity to remove`)
  if (!canWithdraw(pool, bps))
    throw new WorldRefusal(`the pool of ${address} is nearly empty, so nothing can be removed`)
  removeLiquidity(core, token, bps)
  return { token: tokenAt(core, token).address, removedPct: bps / 100 }
}

function transfer(core: Core, command: CommandOf<'transfer-owner'>): CommandResult {
  const token = findToken(core, command.network, command.token)
  const { to } = command
  const { address, owner } = tokenAt(core, token)
  if (isRenounced(owner)) throw new WorldRefusal(`the ownership of ${address} is renounced and can't be transferred`)
  if (to === owner) throw new WorldRefusal(`${owner} already owns ${address}; expected another owner`)
  transferOwner(core, token, to !== null && isRenounced(to) ? null : to)
  return { token: address, owner: tokenAt(core, token).owner }
}

function setThresholds({ state: { rules } }: Core, command: CommandOf<'thresholds'>): CommandResult {
  const milestones = new Set(command.milestonesUsd ?? rules.milestonesUsd)
  Object.assign(rules, command, { milestonesUsd: [...milestones].toSorted((a, b) => a - b) })
  return { ...rules }
}

/** A wallet buys or sells a token. Throws `WorldRefusal` if it can't. */
function trade(core: Core, command: CommandOf<'trade'>): CommandResult {
  const token = findToken(core, command.network, command.token)
  const traded = command.side === 'buy' ? buyFor(core, command, token) : sellPart(core, command, token)
  return toResult(core, traded, command.network)
}

function buyFor(core: Core, { network, usd = 0, token: text, wallet: address }: CommandOf<'trade'>, token: number) {
  const coins = coinsForUsd(core, network, usd)
  const refusal = () => new WorldRefusal(`${usd} USD buy nothing of ${text}: expected more, or another token`)
  if (quotePurchase(tokenAt(core, token), coins) === null) throw refusal()
  const wallet = openWallet(core, network, address)
  fund(core, wallet, coins)
  const traded = executeBuy(core, wallet, token, coins)
  if (traded === null) throw refusal()
  return traded
}

function sellPart(core: Core, command: CommandOf<'trade'>, token: number): Traded {
  const wallet = core.directory.wallets.get(placeOf(command.network, command.wallet))
  const balance = wallet === undefined ? 0n : (holdingOf(core, wallet, token)?.balance ?? 0n)
  if (wallet === undefined || balance === 0n) {
    throw new WorldRefusal(`${command.wallet} holds none of ${command.token}; it must buy some first`)
  }
  const { symbol } = tokenAt(core, token)
  if (isHoneypot(tokenAt(core, token))) throw new WorldRefusal(`${symbol} is a honeypot: nobody can sell it`)
  const traded = executeSell(core, wallet, token, unitsToSell(core, command, token, balance))
  if (traded === null)
    throw new WorldRefusal(`the sale of ${symbol} yields nothing: its pool is empty or the amount too small`)
  return traded
}

function unitsToSell(core: Core, { usd, fraction = 1 }: CommandOf<'trade'>, token: number, balance: bigint): bigint {
  if (usd === undefined) {
    return fraction === 1 ? balance : (balance * BigInt(Math.round(fraction * 1e9))) / 1_000_000_000n
  }
  const micro = BigInt(Math.round(usd * 1e6))
  const whole = worth(core, token, balance)
  return micro < whole ? (balance * micro) / whole : balance
}

/** A wallet swaps all of one token for another. Throws `WorldRefusal` if it can't. */
function swapAll(core: Core, command: CommandOf<'swap'>): CommandResult {
  const from = findToken(core, command.network, command.from)
  const to = findToken(core, command.network, command.to)
  const wallet = core.directory.wallets.get(placeOf(command.network, command.wallet))
  const traded = wallet === undefined ? null : executeSwap(core, wallet, from, to)
  if (traded === null) {
    throw new WorldRefusal(
      `${command.wallet} cannot swap: it must hold ${command.from}, which must be sellable, and both tokens need a pool`,
    )
  }
  return toResult(core, traded, command.network)
}

function toResult(core: Core, traded: Traded, network: NetworkId): CommandResult {
  const txHash = core.txHash(network, traded.seq)
  return { tx_hash: txHash, type: traded.kind, wallet: walletAt(core, traded.wallet).address, seq: traded.seq }
}

const smallestMove = 1e-6

/** Moves a price by trades. Throws `WorldRefusal` if they can't. */
function priceMove(core: Core, command: CommandOf<'price-move'>): CommandResult {
  const token = findToken(core, command.network, command.token)
  const before = priceUsd(core, token)
  const ratio = command.priceUsd === undefined ? 1 + (command.percent ?? 0) / 100 : command.priceUsd / before
  if (!(ratio >= 0.001 && ratio <= 1000)) {
    throw new WorldRefusal(`expected a price between 0.001 and 1000 times the current price ${before}`)
  }
  if (Math.abs(ratio - 1) < smallestMove) {
    throw new WorldRefusal(`expected a price that differs from the current price ${before} by at least a millionth`)
  }
  if (!movePrice(core, token, ratio)) {
    throw new WorldRefusal(
      `the price of ${command.token} cannot get there from ${before}: it takes too large a trade, nobody can sell it, or it has no pool`,
    )
  }
  return { token: tokenAt(core, token).address, before, after: priceUsd(core, token) }
}

/** Changes the activity. Planned paced tasks move accordingly. */
function changeActivity({ state }: Core, wanted: number): CommandResult {
  const factor = Math.max(wanted, minActivity)
  const ratio = state.activity / factor
  const planned = state.agenda.splice(0)
  state.activity = factor
  for (const task of planned) {
    const at = task.isPaced ? state.now + Math.round((task.at - state.now) * ratio) : task.at
    addDue(state.agenda, { ...task, at })
  }
  return { activity: wanted }
}
