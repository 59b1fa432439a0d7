import type { NetworkId } from '../../../schema/index.ts'
import { parseAddress } from './addresses.ts'
import { placeOf, type Core } from './core.ts'
import { WorldRefusal, type WorldCommand } from './port.ts'

/** Maximum of one trade and of the liquidity of one listing. */
export const maxTradeUsd = 1_000_000_000

/** Returns the value, or throws `WorldRefusal` with the expectation. */
function checked(isGood: boolean, name: string, value: number, expected: string): number {
  if (isGood) return value
  throw new WorldRefusal(`${name}: expected ${expected}, received ${value}`)
}

/** Size of a trade in USD. */
export const readTradeUsd = (usd: number) =>
  checked(usd > 0 && usd <= maxTradeUsd, 'usd', usd, `more than 0 and at most ${maxTradeUsd}`)

/** Initial liquidity of a pool in USD. */
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

/** Any finite number above 0. */
export const readPositive = (name: string, value: number) =>
  checked(value > 0 && value < Infinity, name, value, 'a number above 0')

/** A number of points of the risk score. */
export const readSensitivity = (points: number) =>
  checked(points >= 0 && points <= 100, 'riskSensitivity', points, '0 to 100')

/** Result of a command: JSON. */
export type Result = Readonly<Record<string, unknown>>
export type CommandOf<K extends WorldCommand['kind']> = Extract<WorldCommand, { readonly kind: K }>

/** Index of a token. Throws `WorldRefusal` if the address is unknown. */
export function findToken(core: Core, network: NetworkId, text: string): number {
  const token = core.directory.tokens.get(placeOf(network, readAddress('token', network, text)))
  if (token === undefined) throw new WorldRefusal(`token ${text} does not exist on ${network}`)
  return token
}

/** Canonical form of an address. Throws `WorldRefusal` if it is invalid on the network. */
export function readAddress(what: string, network: NetworkId, text: string): string {
  const parsed = parseAddress(network, text)
  if (!parsed.ok) throw new WorldRefusal(`${what}: ${parsed.problem}`)
  return parsed.address
}
