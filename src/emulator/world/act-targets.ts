import type { NetworkId } from '../../../schema/index.ts'
import { parseAddress } from './addresses.ts'
import { placeOf, type Core } from './core.ts'
import { WorldRefusal, type WorldAct } from './port.ts'

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
