import type { NetworkId } from '../../../schema/index.ts'
import { toTxHash } from './addresses.ts'

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/**
 * An event id (R92, A40): `evt_` and 26 Crockford base32 letters: 10 of the time in milliseconds, 4 of a running number,
 * 12 of chance. Ids sort by time, and within one millisecond by their number.
 */
export function toEventId(atMs: number, number: number, chance: Buffer): string {
  return `evt_${toBase32(BigInt(atMs), 10)}${toBase32(BigInt(number % 32 ** 4), 4)}${toBase32(chance.readBigUInt64BE(0), 12)}`
}

function toBase32(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 32n) text = alphabet.charAt(Number(rest % 32n)) + text
  return text
}

/** The hash of the transaction with a number in the log. */
export type TxHashes = (network: NetworkId, seq: number) => string

/** How many are kept: pages of the newest trades are asked for again and again. */
const capacity = 20_000

/** Those of Solana cost most of what a page of trades costs, so the last that were asked for are kept. */
export function createTxHashes(seed: string): TxHashes {
  const kept = new Map<number, string>()
  return (network, seq) => {
    if (network !== 'solana') return toTxHash(network, seed, seq)
    const known = kept.get(seq)
    if (known !== undefined) return known
    if (kept.size >= capacity) kept.clear()
    const made = toTxHash(network, seed, seq)
    kept.set(seq, made)
    return made
  }
}
