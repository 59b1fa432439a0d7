import { WorldRefusal } from './port.ts'

/** More than this changes hands neither in one trade nor in one listing. */
export const largestTradeUsd = 1_000_000_000
const smallestListingUsd = 1

/** Dollars that are to be traded. Throws `WorldRefusal` if nobody can. */
export function readTradeUsd(usd: number): number {
  if (usd > 0 && usd <= largestTradeUsd) return usd
  throw new WorldRefusal(`usd: expected more than 0 and at most ${largestTradeUsd}, received ${usd}`)
}

/** What a pool is to begin with. Throws `WorldRefusal` if it cannot. */
export function readLiquidityUsd(usd: number): number {
  if (usd >= smallestListingUsd && usd <= largestTradeUsd) return usd
  throw new WorldRefusal(`liquidityUsd: expected ${smallestListingUsd} to ${largestTradeUsd}, received ${usd}`)
}

/** Part of a balance. Throws `WorldRefusal` if it is none. */
export function readFraction(fraction: number): number {
  if (fraction > 0 && fraction <= 1) return fraction
  throw new WorldRefusal(`fraction: expected more than 0 and at most 1, received ${fraction}`)
}

/** Percent of a pool, in hundredths of a percent. Throws `WorldRefusal` where nothing would stay in it. */
export function readRemovedBps(percent: number): number {
  const bps = Math.round(percent * 100)
  if (bps >= 1 && bps <= 9999) return bps
  throw new WorldRefusal(`percent: expected 0.01 to 99.99, since a pool needs something left, received ${percent}`)
}

/** Anything above zero that is finite. Throws `WorldRefusal` for anything else. */
export function readPositive(name: string, value: number): number {
  if (value > 0 && value < Infinity) return value
  throw new WorldRefusal(`${name}: expected a number above 0, received ${value}`)
}

/** A part of the risk score. Throws `WorldRefusal` for anything else. */
export function readSensitivity(points: number): number {
  if (points >= 0 && points <= 100) return points
  throw new WorldRefusal(`riskSensitivity: expected 0 to 100, received ${points}`)
}
