import type { NetworkId } from '../../../schema/index.ts'
import { coinPrice, coinPriceAt, tokenAt, type Core } from './core.ts'
import { toMicro, toPriceUsd, type Mark } from './numbers.ts'

const dayMs = 86_400_000

/** What one token costs now, as it is shown. */
export function priceUsd(core: Core, token: number): number {
  const { mark, network } = tokenAt(core, token)
  return toPriceUsd(mark, coinPrice(core, network))
}

/** What so many units are worth now, in millionths of a dollar. */
export function worth(core: Core, token: number, units: bigint): bigint {
  const { mark, network, decimals } = tokenAt(core, token)
  return toMicro(units, decimals, mark, coinPrice(core, network))
}

/** By how many percent the price has changed in a time, to a hundredth; a younger token counts from its first trade. */
export function changePct(core: Core, token: number, overMs = dayMs): number {
  const { network } = tokenAt(core, token)
  const legs = core.trades.ofToken(token)
  if (legs.length === 0) return 0
  const from = core.state.now - overMs
  const before = countBefore(core, token, from)
  const then = markOfLeg(core, legs.at(Math.max(0, before - 1)))
  const thenAt = before > 0 ? from : core.trades.trades.get(core.trades.legs.get(legs.at(0), 'trade'), 'at')
  const past = toPriceUsd(then, coinPriceAt(core, network, thenAt))
  return past === 0 ? 0 : Math.round((priceUsd(core, token) / past - 1) * 10_000) / 100
}

/** What was traded in the last 24 hours, in millionths of a dollar. */
export function volume24h(core: Core, token: number): bigint {
  const before = core.trades.ofToken(token).at(countBefore(core, token, core.state.now - dayMs) - 1)
  return tokenAt(core, token).volume - (before < 0 ? 0n : core.trades.legs.get(before, 'volume'))
}

/** How many legs of a token are older than a moment. */
export function countBefore(core: Core, token: number, at: number): number {
  const { trades, legs } = core.trades
  return core.trades.ofToken(token).countWhile((leg) => trades.get(legs.get(leg, 'trade'), 'at') < at)
}

function markOfLeg(core: Core, leg: number): Mark {
  const { legs } = core.trades
  return { mantissa: legs.get(leg, 'mantissa'), exponent: legs.get(leg, 'exponent') }
}

/** What a token was marked at after the entry `seq` of the log; null if it had no price yet. */
export function markAsOf(core: Core, token: number, seq: number): Mark | null {
  const { trades, legs } = core.trades
  const seqOf = (leg: number) => trades.get(legs.get(leg, 'trade'), 'seq')
  const list = core.trades.ofToken(token)
  const leg = list.at(list.countWhile((row) => seqOf(row) <= seq) - 1)
  const { opening } = tokenAt(core, token)
  const isOpened = opening !== null && opening.seq <= seq
  if (isOpened && (leg < 0 || seqOf(leg) < opening.seq)) return opening.mark
  return leg < 0 ? null : markOfLeg(core, leg)
}

/** Tokens with a pool on a network that somebody makes a market for. */
export function marketsOf(core: Core, network: NetworkId): readonly number[] {
  return core.directory.markets[network]
}
