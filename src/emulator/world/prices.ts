import { coinPrice, coinPriceAt, tokenAt, type Core } from './core.ts'
import { toMicro, toPercent, toPriceUsd, type Mark } from './numbers.ts'
import { legOf, type LoggedTrade } from './trade-log.ts'
import { dayMs, hourMs } from '../../base/clock.ts'

// Prices and volumes of tokens, current and past.

const hoursBefore = 24

/** Present price of one token in USD, rounded for display. */
export function priceUsd(core: Core, token: number): number {
  const { mark, network } = tokenAt(core, token)
  return toPriceUsd(mark, coinPrice(core, network))
}

/** Present value of `units`, in millionths of a dollar. */
export function worth(core: Core, token: number, units: bigint): bigint {
  const { mark, network, decimals } = tokenAt(core, token)
  return toMicro(units, decimals, mark, coinPrice(core, network))
}

/** Price change over `overMs` in percent, to a hundredth. A younger token counts from its first trade. */
export function changePct(core: Core, token: number, overMs = dayMs): number {
  const { network } = tokenAt(core, token)
  const trades = core.trades.ofToken(token)
  const first = trades.at(0)
  if (first === undefined) return 0
  const from = core.state.now - overMs
  const before = trades.newestBefore(from)
  const { mark } = legOf(before ?? first, token)
  const past = toPriceUsd(mark, coinPriceAt(core, network, before === undefined ? first.at : from))
  return past === 0 ? 0 : Math.round((priceUsd(core, token) / past - 1) * 10_000) / 100
}

/** Volume of the last 24 hours, in millionths of a dollar. */
export function volume24h(core: Core, token: number): bigint {
  return tokenAt(core, token).volume - volumeBefore(core, token, core.state.now - dayMs)
}

/** Total volume of a token up to a moment. */
function volumeBefore(core: Core, token: number, at: number): bigint {
  return volumeAfter(core.trades.ofToken(token).newestBefore(at), token)
}

function volumeAfter(trade: LoggedTrade | undefined, token: number): bigint {
  return trade === undefined ? 0n : legOf(trade, token).volume
}

export type HourlyVolume = NonNullable<ReturnType<typeof hourlyVolume>>

/**
 * A14: volume of the last hour compared with the 24 hours before it; null without a trade in these. USD in millionths.
 * Increases are the excess of the last hour over the mean in percent, to a millionth.
 */
export function hourlyVolume(core: Core, token: number) {
  const { now } = core.state
  const { volume } = tokenAt(core, token)
  const hourAgo = volumeBefore(core, token, now - hourMs)
  const before = hourAgo - volumeBefore(core, token, now - (hoursBefore + 1) * hourMs)
  if (before === 0n) return null
  const hours = BigInt(hoursBefore)
  const increase = (lastHour: bigint) => toPercent(lastHour * hours - before, before)
  return {
    lastHour: volume - hourAgo,
    mean: before / hours,
    increasePct: increase(volume - hourAgo),
    /** Without the latest trade. */
    increaseBeforePct: increase(volumeAfter(core.trades.ofToken(token).at(-2), token) - hourAgo),
  }
}

/** Mark of a token after change `seq`; null before its first price. */
export function markAsOf(core: Core, token: number, seq: number): Mark | null {
  const trade = core.trades.ofToken(token).newestUpTo(seq)
  const { opening } = tokenAt(core, token)
  const isOpened = opening !== null && opening.seq <= seq
  if (isOpened && (trade === undefined || trade.seq < opening.seq)) return opening.mark
  return trade === undefined ? null : legOf(trade, token).mark
}
