import { secondsPerDay } from './demand.ts'

export interface DayOptions {
  readonly events: number
  /** The busiest second, as a multiple of the mean; at least 1. */
  readonly peak: number
  /** Numbers in [0, 1): when bursts begin, and how long they are. */
  readonly random: () => number
}

const bursts = 24
const shortestBurst = 60
const longestBurst = 600
/** Bursts bring at most so much of a day's events. */
const mostInBursts = 0.5
/** The quiet hours have half of the mean, the busy ones half as much again. */
const swing = 0.5
const busiestHour = 15

/**
 * Events that come in each second of a day, as fractions too: a curve over the day with its top at 15:00, and bursts in which as many
 * come as in the busiest second. Their sum is `events`.
 */
export function arrivalsOfDay({ events, peak, random }: DayOptions): readonly number[] {
  const isBurst = new Uint8Array(secondsPerDay)
  const longest = Math.min(longestBurst, (mostInBursts * secondsPerDay) / (bursts * peak))
  for (let burst = 0; burst < bursts; burst++) {
    const from = Math.floor(random() * secondsPerDay)
    const seconds = Math.ceil(Math.min(shortestBurst, longest) + random() * Math.max(0, longest - shortestBurst))
    isBurst.fill(1, from, from + seconds)
  }
  const mean = events / secondsPerDay
  const curve = (second: number) =>
    1 + Math.min(swing, peak - 1) * Math.cos(2 * Math.PI * (second / secondsPerDay - busiestHour / 24))
  const inBursts = isBurst.reduce((sum, flag) => sum + flag, 0)
  let rest = 0
  for (const [second, flag] of isBurst.entries()) if (flag === 0) rest += curve(second)
  // What bursts do not bring is spread over the other seconds as the curve says.
  const scale = (secondsPerDay - inBursts * peak) / rest
  return Array.from(isBurst, (flag, second) => mean * (flag === 1 ? peak : curve(second) * scale))
}
