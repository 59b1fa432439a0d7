import type { NetworkId } from '../../../schema/index.ts'
import { countWhile } from '../sorted-list.ts'
import { coinPrice, coinPriceAt, tokenAt, type Core } from './core.ts'
import { toMicro, toPercent, toPriceUsd, type Mark } from './numbers.ts'
import type { PricePoint } from './port.ts'
import { legOf, type LoggedTrade } from './trade-log.ts'

// Prices and volumes of tokens: now, and as they were.

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const hoursBefore = 24

/** The present price of one token, as REST shows it. */
export function priceUsd(core: Core, token: number): number {
  const { mark, network } = tokenAt(core, token)
  return toPriceUsd(mark, coinPrice(core, network))
}

/** The present value of so many units, in millionths of a dollar. */
export function worth(core: Core, token: number, units: bigint): bigint {
  const { mark, network, decimals } = tokenAt(core, token)
  return toMicro(units, decimals, mark, coinPrice(core, network))
}

/** By how many percent the price has changed in a time, to a hundredth; a younger token counts from its first trade. */
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

/** The volume of the last 24 hours, in millionths of a dollar. */
export function volume24h(core: Core, token: number): bigint {
  return tokenAt(core, token).volume - volumeBefore(core, token, core.state.now - dayMs)
}

/** The volume of a token from its beginning to a moment. */
function volumeBefore(core: Core, token: number, at: number): bigint {
  return volumeAfter(core.trades.ofToken(token).newestBefore(at), token)
}

function volumeAfter(trade: LoggedTrade | undefined, token: number): bigint {
  return trade === undefined ? 0n : legOf(trade, token).volume
}

/** The volume of a token in the last hour, against the hours before it. USD in millionths. */
export interface HourlyVolume {
  readonly lastHour: bigint
  /** Of the 24 hours before the last one, above 0. */
  readonly before: bigint
  /** The mean of these 24. */
  readonly mean: bigint
  /** By how many percent the last hour is above the mean, to a millionth; with the last trade and without it. */
  readonly increasePct: number
  readonly increaseBeforePct: number
}

/** A14, as of now. Null without a trade in the 24 hours before the last one: there is nothing to compare with. */
export function hourlyVolume(core: Core, token: number): HourlyVolume | null {
  const { now } = core.state
  const { volume } = tokenAt(core, token)
  const hourAgo = volumeBefore(core, token, now - hourMs)
  const before = hourAgo - volumeBefore(core, token, now - (hoursBefore + 1) * hourMs)
  if (before === 0n) return null
  const hours = BigInt(hoursBefore)
  const increase = (lastHour: bigint) => toPercent(lastHour * hours - before, before)
  return {
    lastHour: volume - hourAgo,
    before,
    mean: before / hours,
    increasePct: increase(volume - hourAgo),
    increaseBeforePct: increase(volumeAfter(core.trades.ofToken(token).at(-2), token) - hourAgo),
  }
}

/** How much more must be traded for the last hour to be so many percent above the mean; millionths of a dollar. */
export function volumeToSpike({ before, lastHour }: HourlyVolume, percent: number): number {
  return (Number(before) / hoursBefore) * (1 + percent / 100) - Number(lastHour)
}

/** The mark of a token after the entry `seq` of the log; null if it had no price yet. */
export function markAsOf(core: Core, token: number, seq: number): Mark | null {
  const trade = core.trades.ofToken(token).newestUpTo(seq)
  const { opening } = tokenAt(core, token)
  const isOpened = opening !== null && opening.seq <= seq
  if (isOpened && (trade === undefined || trade.seq < opening.seq)) return opening.mark
  return trade === undefined ? null : legOf(trade, token).mark
}

/** Prices of a token at up to `count` moments, evenly apart, of the last 24 hours or of the time since it had a price. */
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
  const { log } = core.state
  const entry = log[countWhile(log, (one) => one.at <= at) - 1]
  return Math.max(core.trades.ofToken(token).newestBefore(at + 1)?.seq ?? 0, entry?.seq ?? 0)
}

/** Tokens with a pool on a network that somebody makes a market for. */
export function marketsOf(core: Core, network: NetworkId): readonly number[] {
  return core.directory.markets[network]
}
