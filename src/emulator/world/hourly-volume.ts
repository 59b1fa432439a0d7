import { tokenAt, type Core } from './core.ts'
import { toPercent } from './numbers.ts'
import { countBefore } from './prices.ts'

const hourMs = 3_600_000
const hoursBefore = 24

/** How much of a token was traded in the last hour, against the hours before it. USD in millionths. */
export interface HourlyVolume {
  readonly lastHour: bigint
  /** Of the 24 hours before the last one, above 0. */
  readonly before: bigint
  /** The mean of these 24. */
  readonly mean: bigint
  /** By how many percent the last hour is above the mean, to a millionth; and what it would be without the last trade. */
  readonly increasePct: number
  readonly increaseBeforePct: number
}

/** A14, as of now. Null if nothing was traded in the 24 hours before the last one: there is nothing to compare with. */
export function hourlyVolume(core: Core, token: number): HourlyVolume | null {
  const { now } = core.state
  const { volume } = tokenAt(core, token)
  const legs = core.trades.ofToken(token)
  const hourAgo = volumeAfter(core, legs.at(countBefore(core, token, now - hourMs) - 1))
  const dayBefore = volumeAfter(core, legs.at(countBefore(core, token, now - (hoursBefore + 1) * hourMs) - 1))
  const before = hourAgo - dayBefore
  if (before === 0n) return null
  const hours = BigInt(hoursBefore)
  const increase = (lastHour: bigint) => toPercent(lastHour * hours - before, before)
  return {
    lastHour: volume - hourAgo,
    before,
    mean: before / hours,
    increasePct: increase(volume - hourAgo),
    increaseBeforePct: increase(volumeAfter(core, legs.at(legs.length - 2)) - hourAgo),
  }
}

/** How much more must be traded for the last hour to be so many percent above the mean; millionths of a dollar. */
export function volumeToSpike({ before, lastHour }: HourlyVolume, percent: number): number {
  return (Number(before) / hoursBefore) * (1 + percent / 100) - Number(lastHour)
}

/** What was traded of its token up to a leg; -1 stands for none. */
function volumeAfter({ trades }: Core, leg: number): bigint {
  return leg < 0 ? 0n : trades.legs.get(leg, 'volume')
}
