import type { NetworkId } from '../../../schema/index.ts'
import { toTxHash } from './addresses.ts'

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
