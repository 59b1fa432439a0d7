import type { NetworkId } from '../../../schema/index.ts'
import { parseAddress } from './addresses.ts'
import { placeOf, type Core } from './core.ts'
import { WorldRefusal, type WorldCommand } from './port.ts'

/** More than this changes hands neither in one trade nor in one listing. */
export const maxTradeUsd = 1_000_000_000

/** Gives a value that an act names, or throws `WorldRefusal` with what was expected. */
function checked(isGood: boolean, name: string, value: number, expected: string): number {
  if (isGood) return value
  throw new WorldRefusal(`${name}: expected ${expected}, received ${value}`)
}

/** Dollars that are to be traded. */
export const readTradeUsd = (usd: number) =>
  checked(usd > 0 && usd <= maxTradeUsd, 'usd', usd, `more than 0 and at most ${maxTradeUsd}`)

/** The liquidity that a pool begins with. */
export const readLiquidityUsd = (usd: number) =>
  checked(usd >= 1 && usd <= maxTradeUsd, 'liquidityUsd', usd, `1 to ${maxTradeUsd}`)

/** Part of a balance. */
export const readFraction = (fraction: number) =>
  checked(fraction > 0 && fraction <= 1, 'fraction', fraction, 'more than 0 and at most 1')

/** Percent of a pool, in hundredths of a percent. A pool needs something left. */
export function readRemovedBps(percent: number): number {
  const bps = Math.round(percent * 100)
  checked(bps >= 1 && bps <= 9999, 'percent', percent, '0.01 to 99.99, since a pool needs something left')
  return bps
}

/** Anything above zero that is finite. */
export const readPositive = (name: string, value: number) =>
  checked(value > 0 && value < Infinity, name, value, 'a number above 0')

/** A part of the risk score. */
export const readSensitivity = (points: number) =>
  checked(points >= 0 && points <= 100, 'riskSensitivity', points, '0 to 100')

/** What an act gives back: JSON. */
export type Result = Readonly<Record<string, unknown>>
export type CommandOf<K extends WorldCommand['kind']> = Extract<WorldCommand, { readonly kind: K }>

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
