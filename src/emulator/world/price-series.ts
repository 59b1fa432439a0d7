import { coinPriceAt, tokenAt, type Core } from './core.ts'
import { toPriceUsd } from './numbers.ts'
import type { PricePoint } from './port.ts'
import { markAsOf, priceUsd } from './prices.ts'

const dayMs = 86_400_000

/** What a token cost at up to `count` moments, evenly apart, of the last 24 hours or of the time since it had a price. */
export function priceSeries(core: Core, token: number, count: number): readonly PricePoint[] {
  const { network, createdAt } = tokenAt(core, token)
  const { now } = core.state
  const from = Math.max(now - dayMs, createdAt, core.options.startAt)
  const moments = Array.from({ length: count }, (_, index) =>
    Math.round(count === 1 ? now : from + ((now - from) * index) / (count - 1)),
  )
  return [...new Set(moments)].flatMap((at) => {
    if (at === now) return [{ at, price_usd: priceUsd(core, token) }]
    const mark = markAsOf(core, token, seqAt(core, token, at))
    return mark === null ? [] : [{ at, price_usd: toPriceUsd(mark, coinPriceAt(core, network, at)) }]
  })
}

/** The last entry of the log up to a moment that can have moved the price of a token; 0 if there is none. */
function seqAt(core: Core, token: number, at: number): number {
  const { trades, legs } = core.trades
  const tradeOf = (leg: number) => legs.get(leg, 'trade')
  const own = core.trades.ofToken(token)
  const leg = own.at(own.countWhile((row) => trades.get(tradeOf(row), 'at') <= at) - 1)
  return Math.max(leg < 0 ? 0 : trades.get(tradeOf(leg), 'seq'), lastLogged(core, at))
}

/** The last entry beside trades that was written at a moment or before; 0 if there is none. */
function lastLogged({ state: { log } }: Core, at: number): number {
  let [low, high] = [0, log.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((log[middle]?.at ?? Infinity) <= at) low = middle + 1
    else high = middle
  }
  return log[low - 1]?.seq ?? 0
}
