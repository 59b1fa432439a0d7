import type { Result } from './act-targets.ts'
import { isHoneypot } from './audit.ts'
import { coinsForUsd, holdersOf, holdingAt, placeOf, tokenAt, usdOfCoins, walletAt, type Core } from './core.ts'
import { dealBuy, dealSellAll } from './dealing.ts'
import { proceedsAfterBuying, proceedsOf, unitsFor } from './exchange.ts'
import { largestTradeUsd } from './limits.ts'
import { toUsd } from './numbers.ts'
import { WorldRefusal } from './port.ts'
import { isWhale } from './portfolio.ts'
import type { AlertState } from './state.ts'
import { establishedOf } from './stories.ts'
import { addressFor, fund, openWallet } from './wallets.ts'

/** Who trades what, so that an alert on trades fires. */
interface Plan {
  readonly address: string
  readonly token: number
  /** What is paid first; null where enough is held to be sold. */
  readonly coins: bigint | null
}

/** How much more than the threshold is paid, at least. */
const margin = 1.05

/**
 * A trade that an alert on trades waits for (A15): of its wallet, or of a whale where it is about a token. For a sale, what
 * is not held is bought first. Throws `WorldRefusal` if nobody can.
 */
export function tradeForAlert(core: Core, alert: AlertState): Result {
  const { alertId, network } = alert
  const token = core.directory.tokens.get(placeOf(network, alert.address))
  const plan = token === undefined ? planOfWallet(core, alert) : planOfWhale(core, alert, token)
  const wallet = openWallet(core, network, plan.address)
  if (plan.coins !== null) {
    fund(core, wallet, plan.coins)
    dealBuy(core, wallet, plan.token, plan.coins)
  }
  if (alert.type === 'whale_sell') dealSellAll(core, wallet, plan.token)
  return { wallet: plan.address, token: tokenAt(core, plan.token).address, network, alert: alertId }
}

function planOfWallet(core: Core, alert: AlertState): Plan {
  const { network, address } = alert
  const wallet = core.directory.wallets.get(placeOf(network, address))
  const open = wallet === undefined ? [] : [...walletAt(core, wallet).open]
  const held = open.find((holding) => isSaleEnough(core, alert, holding))
  if (held !== undefined) return { address, token: holdingAt(core, held).token, coins: null }
  const possible = establishedOf(core, network).flatMap((token): Plan[] => {
    const coins = stakeOf(core, alert, token, wallet)
    return coins === null ? [] : [{ address, token, coins }]
  })
  if (possible.length === 0) throw refusalOf(alert, `no token of ${network} can be traded for as much`)
  return core.chance.pick(core.state.streams.acts, possible)
}

function planOfWhale(core: Core, alert: AlertState, token: number): Plan {
  const { network, address, type } = alert
  if (tokenAt(core, token).pool === null) {
    throw refusalOf(alert, `${address} is still on its bonding curve: expected a token with a pool`)
  }
  if (type === 'whale_sell' && isHoneypot(tokenAt(core, token))) {
    throw refusalOf(alert, `${address} is a honeypot: nobody can sell it`)
  }
  // Its creator would sell far too much at once.
  const { creator } = tokenAt(core, token)
  for (const holding of holdersOf(core, token)) {
    const { wallet } = holdingAt(core, holding)
    if (wallet !== creator && isSaleEnough(core, alert, holding) && isWhale(core, wallet)) {
      return { address: walletAt(core, wallet).address, token, coins: null }
    }
  }
  const whale = core.state.wallets.findIndex((owner, wallet) => {
    const isTrader = owner.archetype !== 'bot' && wallet !== creator && core.trades.ofWallet(wallet).length > 0
    return owner.network === network && isTrader && isWhale(core, wallet)
  })
  // Where there is none, somebody buys so much as to become one.
  const coins = whale < 0 ? stakeOf(core, alert, token, undefined, true) : stakeOf(core, alert, token, whale)
  if (coins === null) throw refusalOf(alert, `nobody can trade ${address} for as much`)
  return { address: whale < 0 ? addressFor(core, network, 'whale') : walletAt(core, whale).address, token, coins }
}

/** Whether a sale of all that is held would do. */
function isSaleEnough(core: Core, { type, threshold }: AlertState, holding: number): boolean {
  if (type !== 'whale_sell') return false
  const { token, balance } = holdingAt(core, holding)
  const sold = tokenAt(core, token)
  if (isHoneypot(sold)) return false
  return toUsd(usdOfCoins(core, sold.network, proceedsOf(core, token, balance))) >= threshold
}

/**
 * The coins for which a wallet has to buy a token: enough for the alert, or for a sale afterwards that is, and on demand so
 * many that it makes a whale of anybody. Null if that is more than anybody trades for.
 */
function stakeOf(
  core: Core,
  { type, network, threshold }: AlertState,
  token: number,
  wallet: number | undefined,
  makesWhale = false,
): bigint | null {
  const { whaleUsd, whaleSupplyPct } = core.options
  const { supply } = tokenAt(core, token)
  for (let usd = Math.max(1, threshold * margin); usd <= largestTradeUsd; usd *= 2) {
    const coins = coinsForUsd(core, network, usd)
    const units = unitsFor(core, token, coins)
    const proceeds = usdOfCoins(core, network, proceedsAfterBuying(core, token, coins))
    const isEnough = units > 0n && (type === 'whale_buy' || toUsd(proceeds) >= threshold)
    const isLarge = usd >= whaleUsd * margin || units * 10_000n >= supply * BigInt(Math.round(whaleSupplyPct * 100))
    if (isEnough && (isLarge || !makesWhale)) return coins
  }
  return null
}

function refusalOf({ alertId, threshold }: AlertState, why: string): WorldRefusal {
  return new WorldRefusal(`alert ${alertId}, from ${threshold} USD on: ${why}`)
}
