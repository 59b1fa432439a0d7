import type { NetworkId } from '../../../schema/index.ts'
import { parseAddress } from './addresses.ts'
import { placeOf, type Core } from './core.ts'
import { WorldRefusal, type WorldAct } from './port.ts'

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

/** What an act gives back: JSON. */
export type Result = Readonly<Record<string, unknown>>
export type ActOf<K extends WorldAct['kind']> = Extract<WorldAct, { readonly kind: K }>

/** The place of a token. Throws `WorldRefusal` if there is none at the address. */
export function findToken(core: Core, network: NetworkId, text: string): number {
  const token = core.directory.tokens.get(placeOf(network, readAddress('token', network, text)))
  if (token === undefined) throw new WorldRefusal(`token ${text}: there is none of this address on ${network}`)
  return token
}

/** An address in its canonical form. Throws `WorldRefusal` if it is none of the network. */
export function readAddress(what: string, network: NetworkId, text: string): string {
  const parsed = parseAddress(network, text)
  if (!parsed.ok) throw new WorldRefusal(`${what}: ${parsed.problem}`)
  return parsed.address
}
