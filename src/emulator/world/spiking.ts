import type { Result } from './act-targets.ts'
import { isBack, isResting } from './arming.ts'
import { coinsForUsd, placeOf, tokenAt, usdOfCoins, walletAt, type Core } from './core.ts'
import { dealBuy, dealSellAll } from './dealing.ts'
import { unitsFor } from './exchange.ts'
import { hourlyVolume, volumeToSpike } from './prices.ts'
import { largestTradeUsd } from './limits.ts'
import { WorldRefusal } from './port.ts'
import type { AlertState } from './state.ts'
import { addressFor, fund, openWallet } from './wallets.ts'

/** So many purchases are enough, each with the sale of what it bought. */
const mostRounds = 100
/** The part of a pool that a purchase takes as long as that is enough: more would move the price a lot. */
const shareOfPool = 0.1
/** As often as this a pool cannot be turned over in an hour. */
const mostTurns = 1000

/**
 * Somebody buys and sells a token until the last hour is so far above the mean hour that a volume alert fires (A14). Throws
 * `WorldRefusal` if it cannot now.
 */
export function spike(core: Core, alert: AlertState): Result {
  const { token, missingUsd, sizeUsd } = planSpike(core, alert)
  const { network, address } = tokenAt(core, token)
  const wallet = openWallet(core, network, addressFor(core, network, 'churner'))
  const coins = coinsForUsd(core, network, sizeUsd)
  const isFired = () => alert.firedAt === core.state.now
  for (let round = 0; round < mostRounds && !isFired(); round++) {
    fund(core, wallet, coins)
    dealBuy(core, wallet, token, coins)
    if (!isFired()) dealSellAll(core, wallet, token)
  }
  return { token: address, alert: alert.alertId, wallet: walletAt(core, wallet).address, usd: missingUsd }
}

interface Spike {
  readonly token: number
  readonly missingUsd: number
  /** Of one purchase. */
  readonly sizeUsd: number
}

function planSpike(core: Core, alert: AlertState): Spike {
  const { alertId, network, address, threshold } = alert
  const refusal = (why: string) => new WorldRefusal(`alert ${alertId}: ${why}`)
  const token = core.directory.tokens.get(placeOf(network, address))
  if (token === undefined) throw refusal(`there is no token ${address} on ${network}, whose volume could rise`)
  const traded = tokenAt(core, token)
  if (traded.pool === null) throw refusal(`${address} is still on its bonding curve: expected a token with a pool`)
  const hourly = hourlyVolume(core, token)
  if (hourly === null) {
    throw refusal(
      `nothing of ${address} was traded in the 24 hours before the last one: there is no mean to rise above`,
    )
  }
  if (isResting(alert, core.state.now) || !(alert.isArmed || isBack(alert, hourly.increasePct))) {
    throw refusal(
      `it waits: the volume, ${hourly.increasePct} % above the mean, must fall back below ${threshold} %, and five ` +
        'minutes must have passed since it fired',
    )
  }
  // A little more than is missing, since each trade is rounded.
  const missingUsd = Math.max(1, (volumeToSpike(hourly, threshold) / 1e6) * 1.01)
  const poolUsd = Number(usdOfCoins(core, network, traded.pool.coins)) / 1e6
  if (missingUsd > Math.min(largestTradeUsd, poolUsd * mostTurns)) {
    throw refusal(`it would take trades for ${Math.round(missingUsd)} USD within the hour, more than its pool allows`)
  }
  const sizeUsd = Math.min(missingUsd, Math.max(poolUsd * shareOfPool, missingUsd / mostRounds))
  if (unitsFor(core, token, coinsForUsd(core, network, sizeUsd)) === 0n) {
    throw refusal(`${Math.round(sizeUsd)} USD buy nothing of ${address}: its pool is all but empty`)
  }
  return { token, missingUsd, sizeUsd }
}
