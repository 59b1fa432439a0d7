import type { NetworkId } from '../../../schema/index.ts'
import { findToken, readAddress, type ActOf, type Result } from './act-targets.ts'
import { isHoneypot } from './audit.ts'
import { coinsForUsd, holdingOf, placeOf, tokenAt, walletAt, type Core } from './core.ts'
import { dealBuy, dealSell, dealSwap } from './dealing.ts'
import { readFraction, readTradeUsd } from './limits.ts'
import { fund, openWallet } from './wallets.ts'
import { unitsFor } from './exchange.ts'
import { type Traded } from './market.ts'
import { movePrice } from './interventions.ts'
import { WorldRefusal } from './port.ts'
import { priceUsd, worth } from './prices.ts'

/** A wallet buys or sells a token. Throws `WorldRefusal` if it cannot. */
export function trade(core: Core, act: ActOf<'trade'>): Result {
  const token = findToken(core, act.network, act.token)
  const address = readAddress('wallet', act.network, act.wallet)
  const traded = act.side === 'buy' ? buyFor(core, act, address, token) : sellPart(core, act, address, token)
  return toResult(core, traded, act.network)
}

function buyFor(core: Core, { network, usd, fraction, token: text }: ActOf<'trade'>, address: string, token: number) {
  if (usd === undefined || fraction !== undefined) {
    throw new WorldRefusal('a purchase needs `usd`, what it is to cost, and takes no `fraction`')
  }
  const coins = coinsForUsd(core, network, readTradeUsd(usd))
  const refusal = () => new WorldRefusal(`${usd} USD buy nothing of ${text}: expected more, or another token`)
  if (unitsFor(core, token, coins) === 0n) throw refusal()
  const wallet = openWallet(core, network, address)
  fund(core, wallet, coins)
  const traded = dealBuy(core, wallet, token, coins)
  if (traded === null) throw refusal()
  return traded
}

function sellPart(core: Core, act: ActOf<'trade'>, address: string, token: number): Traded {
  if (act.usd !== undefined && act.fraction !== undefined) {
    throw new WorldRefusal('a sale takes `usd` or `fraction`, not both')
  }
  const wallet = core.directory.wallets.get(placeOf(act.network, address))
  const balance = wallet === undefined ? 0n : (holdingOf(core, wallet, token)?.balance ?? 0n)
  if (wallet === undefined || balance === 0n) {
    throw new WorldRefusal(`${act.wallet} holds none of ${act.token}: it has to buy some first`)
  }
  const { symbol } = tokenAt(core, token)
  if (isHoneypot(tokenAt(core, token))) throw new WorldRefusal(`${symbol} is a honeypot: nobody can sell it`)
  const traded = dealSell(core, wallet, token, unitsToSell(core, act, token, balance))
  if (traded === null)
    throw new WorldRefusal(`the sale of ${symbol} brings nothing: its pool is empty or the part too small`)
  return traded
}

function unitsToSell(core: Core, { usd, fraction = 1 }: ActOf<'trade'>, token: number, balance: bigint): bigint {
  if (usd === undefined) {
    const share = readFraction(fraction)
    return share === 1 ? balance : (balance * BigInt(Math.round(share * 1e9))) / 1_000_000_000n
  }
  const micro = BigInt(Math.round(readTradeUsd(usd) * 1e6))
  const whole = worth(core, token, balance)
  return micro < whole ? (balance * micro) / whole : balance
}

/** A wallet sells all of one token for another. Throws `WorldRefusal` if it cannot. */
export function swapAll(core: Core, act: ActOf<'swap'>): Result {
  const from = findToken(core, act.network, act.from)
  const to = findToken(core, act.network, act.to)
  const wallet = core.directory.wallets.get(placeOf(act.network, readAddress('wallet', act.network, act.wallet)))
  const traded = wallet === undefined ? null : dealSwap(core, wallet, from, to)
  if (traded === null) {
    throw new WorldRefusal(
      `${act.wallet} cannot swap: it must hold ${act.from}, be able to sell it, and both need a pool`,
    )
  }
  return toResult(core, traded, act.network)
}

function toResult(core: Core, traded: Traded, network: NetworkId): Result {
  const txHash = core.txHash(network, traded.seq)
  return { tx_hash: txHash, type: traded.kind, wallet: walletAt(core, traded.wallet).address, seq: traded.seq }
}

const smallestMove = 1e-6

/** Trades bring a price where it is wanted. Throws `WorldRefusal` if they cannot. */
export function priceMove(core: Core, act: ActOf<'price-move'>): Result {
  if ((act.priceUsd === undefined) === (act.percent === undefined)) {
    throw new WorldRefusal('expected either `priceUsd` or `percent`')
  }
  const token = findToken(core, act.network, act.token)
  const before = priceUsd(core, token)
  const ratio = act.priceUsd === undefined ? 1 + (act.percent ?? 0) / 100 : act.priceUsd / before
  if (!(ratio >= 0.001 && ratio <= 1000)) {
    throw new WorldRefusal(
      `expected a price between a thousandth and a thousand times of what it is, which is ${before}`,
    )
  }
  if (Math.abs(ratio - 1) < smallestMove) {
    throw new WorldRefusal(`expected another price than ${before}, by a millionth of it or more`)
  }
  if (!movePrice(core, token, ratio)) {
    throw new WorldRefusal(
      `the price of ${act.token} cannot get there from ${before}: it takes too large a trade, nobody can sell it, or it has no pool`,
    )
  }
  return { token: tokenAt(core, token).address, before, after: priceUsd(core, token) }
}
