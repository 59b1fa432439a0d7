import { hash } from 'node:crypto'
import { ed25519 } from '@noble/curves/ed25519.js'
import { base58 } from '@scure/base'
import type { NetworkId } from '../../../schema/index.ts'

// Addresses and hashes in the real format of each network, derived from hashes (A9, A10).

/** Owner of a renounced EVM contract. */
export const zeroAddress = `0x${'0'.repeat(40)}`
/** Pseudo token address of the coin of an EVM network. */
const evmCoinAddress = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'
/** Wrapped SOL: pseudo token address of the coin of Solana. */
const solanaCoinAddress = 'So11111111111111111111111111111111111111112'

export type ParsedAddress =
  | { readonly ok: true; readonly address: string }
  /** For people; follows the name of the parameter. */
  | { readonly ok: false; readonly problem: string }

/**
 * Parses an address of the network. Returns the canonical form: EIP-55 for EVM networks, unchanged for Solana. EVM
 * addresses may be in any case; `strictChecksum` rejects mixed case that is not EIP-55 (A9). Addresses of the other
 * family are rejected (A11).
 */
export function parseAddress(
  network: NetworkId,
  text: string,
  options: { strictChecksum?: boolean } = {},
): ParsedAddress {
  return network === 'solana' ? parseSolana(text) : parseEvm(network, text, options.strictChecksum === true)
}

function parseEvm(network: NetworkId, text: string, strictChecksum: boolean): ParsedAddress {
  if (!/^0x[0-9a-fA-F]{40}$/.test(text)) {
    const problem = `expected 0x and 40 hex digits (an address of ${network})`
    return { ok: false, problem: isSolana(text) ? `${problem}; this is a Solana address` : problem }
  }
  const address = toChecksumAddress(text.slice(2))
  const isMixed = /[a-f]/.test(text.slice(2)) && /[A-F]/.test(text)
  if (strictChecksum && isMixed && address !== text) {
    return { ok: false, problem: 'the case of the letters does not match the EIP-55 checksum; check the spelling' }
  }
  return { ok: true, address }
}

function parseSolana(text: string): ParsedAddress {
  if (isSolana(text)) return { ok: true, address: text }
  const problem = 'expected 32 bytes in base58 (an address of solana)'
  const isEvm = /^0x[0-9a-fA-F]{40}$/.test(text)
  return { ok: false, problem: isEvm ? `${problem}; this is an EVM address` : problem }
}

function isSolana(text: string): boolean {
  if (!/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text)) return false
  return base58.decode(text).length === 32
}

/** EIP-55: a hex letter is upper case where the Keccak-256 digit at its place is 8 or more. */
export function toChecksumAddress(hex: string): string {
  const lower = hex.toLowerCase()
  const digest = hash('keccak-256', lower, 'hex')
  const letters = Array.from(lower, (letter, i) =>
    digest.charCodeAt(i) >= '8'.charCodeAt(0) ? letter.toUpperCase() : letter,
  )
  return `0x${letters.join('')}`
}

/** Address from 32 random bytes: the tail of a hash on EVM networks, an ed25519 public key on Solana. */
export function toAddress(network: NetworkId, entropy: Uint8Array): string {
  if (network === 'solana') return base58.encode(ed25519.getPublicKey(entropy))
  return toChecksumAddress(hash('keccak-256', entropy, 'hex').slice(24))
}

/** A mint on the curve that ends in `pump`, as on the launch platform. */
export function toPumpMint(entropy: Uint8Array): string {
  const span = 58n ** 4n
  const suffix = Array.from('pump').reduce((value, letter) => value * 58n + BigInt(base58Alphabet.indexOf(letter)), 0n)
  for (let bytes = entropy; ; bytes = hash('sha256', bytes, 'buffer')) {
    // A first byte from 1 to 254 keeps the value at 32 bytes after adding the suffix.
    const first = 1 + ((bytes[0] ?? 0) % 254)
    const value = BigInt(`0x${Buffer.from([first, ...bytes.subarray(1)]).toString('hex')}`)
    const mint = Buffer.from((value - (value % span) + suffix).toString(16).padStart(64, '0'), 'hex')
    if (isOnCurve(mint)) return base58.encode(mint)
  }
}

const base58Alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

function isOnCurve(bytes: Uint8Array): boolean {
  try {
    ed25519.Point.fromBytes(bytes)
    return true
  } catch {
    return false
  }
}

/** Pseudo token address of a network's coin. */
export function coinAddress(network: NetworkId): string {
  return network === 'solana' ? solanaCoinAddress : evmCoinAddress
}

/** Transaction hash from its number in the log: 0x and 64 lower-case hex digits, or 64 bytes in base58 (A10). */
export function toTxHash(network: NetworkId, seed: string, seq: number): string {
  const name = `${seed}|tx|${network}|${seq}`
  if (network !== 'solana') return `0x${hash('sha256', name, 'hex')}`
  const bytes = hash('sha512', name, 'buffer')
  // A first byte of 0 would make some a letter shorter.
  bytes[0] = Math.max(1, bytes[0] ?? 0)
  return base58.encode(bytes)
}

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** An event id (R92, A40): `evt_` and 26 Crockford base32 letters: 10 of the time in milliseconds, 4 of a counter, 12 random. */
export function toEventId(atMs: number, number: number, chance: Buffer): string {
  return `evt_${toBase32(BigInt(atMs), 10)}${toBase32(BigInt(number % 32 ** 4), 4)}${toBase32(chance.readBigUInt64BE(0), 12)}`
}

function toBase32(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 32n) text = alphabet.charAt(Number(rest % 32n)) + text
  return text
}
