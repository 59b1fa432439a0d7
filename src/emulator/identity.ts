import { createHash } from 'node:crypto'
import type { NetworkId } from '../../schema/index.ts'
import type { RandomStream } from './random.ts'

const base58Alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const crockfordAlphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** The zero address: what a renounced contract names as its owner. */
export const zeroAddress = `0x${'0'.repeat(40)}`

/** An address in the network's own shape: EIP-55 mixed case for EVM networks, base58 of 32 bytes for Solana. */
export function toAddress(network: NetworkId, bytes: Buffer): string {
  return network === 'solana' ? toBase58(bytes) : toChecksumAddress(bytes.subarray(12).toString('hex'))
}

/** A transaction hash in the network's own shape: 0x and 64 hex digits, or base58 of the 64 bytes of a signature. */
export function toTxHash(network: NetworkId, stream: RandomStream): string {
  if (network === 'solana') return toBase58(Buffer.concat([stream.bytes(), stream.bytes()]))
  return `0x${stream.bytes().toString('hex')}`
}

/** A Solana mint address whose last letters are `pump`, as the bonding-curve platform gives them. */
export function toPumpMint(bytes: Buffer): string {
  const span = 58n ** 4n
  const suffix = Array.from('pump').reduce((value, letter) => value * 58n + BigInt(base58Alphabet.indexOf(letter)), 0n)
  // A first byte from 1 to 254 keeps 32 bytes long whatever the last four letters add.
  const value = BigInt(
    `0x${Buffer.concat([Buffer.from([1 + (bytes.readUInt8(0) % 254)]), bytes.subarray(1)]).toString('hex')}`,
  )
  return toBase58(Buffer.from((value - (value % span) + suffix).toString(16).padStart(64, '0'), 'hex'))
}

/** Bytes in base58 (Bitcoin alphabet), each leading zero byte a `1`. */
export function toBase58(bytes: Buffer): string {
  let value = BigInt(`0x0${bytes.toString('hex')}`)
  let text = ''
  for (; value > 0n; value /= 58n) text = base58Alphabet.charAt(Number(value % 58n)) + text
  const zeros = bytes.findIndex((byte) => byte !== 0)
  return '1'.repeat(zeros < 0 ? bytes.length : zeros) + text
}

/** EIP-55: a hex letter is upper case where the Keccak-256 digit at its place is 8 or more. */
export function toChecksumAddress(hex: string): string {
  const lower = hex.toLowerCase()
  const digest = createHash('keccak-256').update(lower).digest('hex')
  const letters = Array.from(lower, (letter, i) =>
    parseInt(digest.charAt(i), 16) >= 8 ? letter.toUpperCase() : letter,
  )
  return `0x${letters.join('')}`
}

/**
 * An event id (R92, A40): `evt_` and 26 Crockford base32 letters: 10 of the time in milliseconds, 4 of a running number,
 * 12 of chance. Ids sort by time, and within one millisecond by their number.
 */
export function toEventId(atMs: number, sequence: number, chance: Buffer): string {
  const time = toCrockford(BigInt(atMs), 10)
  const number = toCrockford(BigInt(sequence % 32 ** 4), 4)
  return `evt_${time}${number}${toCrockford(chance.readBigUInt64BE(0), 12)}`
}

function toCrockford(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 32n) text = crockfordAlphabet.charAt(Number(rest % 32n)) + text
  return text
}
