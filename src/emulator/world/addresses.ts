import { hash } from 'node:crypto'
import { ed25519 } from '@noble/curves/ed25519.js'
import { sha256 } from '@noble/hashes/sha2.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { base58 } from '@scure/base'
import type { NetworkId } from '../../../schema/index.ts'

// Addresses and hashes in the real format of each network, drawn from hashes (A9, A10).

/** What a renounced EVM contract names as its owner. */
export const zeroAddress = `0x${'0'.repeat(40)}`
/** What stands for the coin of an EVM network where a token's address is expected. */
const evmCoinAddress = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'
/** Wrapped SOL: what stands for the coin of Solana. */
const solanaCoinAddress = 'So11111111111111111111111111111111111111112'

export type ParsedAddress =
  | { readonly ok: true; readonly address: string }
  /** Why it is none: for people, after the name of the parameter. */
  | { readonly ok: false; readonly problem: string }

/**
 * Reads an address of the network: the canonical form on success (EIP-55 for EVM networks, as it came for Solana).
 * EVM addresses are taken in any case; with `strictChecksum` a mixed case that is not EIP-55 is refused (A9). An
 * address of the other family is refused (A11).
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
    const problem = `expected 0x and 40 hex digits, as addresses of ${network} are written`
    return { ok: false, problem: isSolana(text) ? `${problem}; this is one of Solana` : problem }
  }
  const address = toChecksumAddress(text.slice(2))
  const isMixed = /[a-f]/.test(text.slice(2)) && /[A-F]/.test(text)
  if (strictChecksum && isMixed && address !== text) {
    return { ok: false, problem: 'the case of its letters is not its EIP-55 checksum; is it misspelt?' }
  }
  return { ok: true, address }
}

function parseSolana(text: string): ParsedAddress {
  if (isSolana(text)) return { ok: true, address: text }
  const problem = 'expected 32 bytes in base58, as addresses of solana are written'
  const isEvm = /^0x[0-9a-fA-F]{40}$/.test(text)
  return { ok: false, problem: isEvm ? `${problem}; this is one of an EVM network` : problem }
}

function isSolana(text: string): boolean {
  if (!/^[1-9A-HJ-NP-Za-km-z]{32,44}$/.test(text)) return false
  return base58.decode(text).length === 32
}

/** EIP-55: a hex letter is upper case where the Keccak-256 digit at its place is 8 or more. */
export function toChecksumAddress(hex: string): string {
  const lower = hex.toLowerCase()
  // Each request with an address needs one: Node's takes a tenth of the time.
  const digest = hash('keccak-256', lower, 'hex')
  const letters = Array.from(lower, (letter, i) =>
    digest.charCodeAt(i) >= '8'.charCodeAt(0) ? letter.toUpperCase() : letter,
  )
  return `0x${letters.join('')}`
}

/** The address of a wallet from 32 bytes of chance: a hash's tail on EVM networks, an ed25519 public key on Solana. */
export function toWalletAddress(network: NetworkId, entropy: Uint8Array): string {
  if (network === 'solana') return base58.encode(ed25519.getPublicKey(entropy))
  return toChecksumAddress(bytesToHex(keccak_256(entropy).subarray(12)))
}

/** What CREATE gives: keccak(rlp([sender, nonce])), its last 20 bytes. */
export function toContractAddress(sender: string, nonce: number): string {
  const list = concatBytes(rlpBytes(hexToBytes(sender.slice(2))), rlpBytes(toMinimalBytes(nonce)))
  const encoded = concatBytes(Uint8Array.of(0xc0 + list.length), list)
  return toChecksumAddress(bytesToHex(keccak_256(encoded).subarray(12)))
}

/** A string of less than 56 bytes in RLP. */
function rlpBytes(bytes: Uint8Array): Uint8Array {
  if (bytes.length === 1 && (bytes[0] ?? 0) < 0x80) return bytes
  return concatBytes(Uint8Array.of(0x80 + bytes.length), bytes)
}

function toMinimalBytes(value: number): Uint8Array {
  if (value === 0) return new Uint8Array()
  const hex = value.toString(16)
  return hexToBytes(hex.length % 2 === 0 ? hex : `0${hex}`)
}

/** The mint of a Solana token: an ed25519 public key. */
export function toMint(entropy: Uint8Array): string {
  return base58.encode(ed25519.getPublicKey(entropy))
}

/** A mint on the curve whose last letters are `pump`, as the launch platform gives them. */
export function toPumpMint(entropy: Uint8Array): string {
  const span = 58n ** 4n
  const suffix = Array.from('pump').reduce((value, letter) => value * 58n + BigInt(base58Alphabet.indexOf(letter)), 0n)
  for (let bytes = entropy; ; bytes = sha256(bytes)) {
    // A first byte from 1 to 254 keeps 32 bytes long whatever the last four letters add.
    const first = 1 + ((bytes[0] ?? 0) % 254)
    const value = BigInt(`0x${bytesToHex(concatBytes(Uint8Array.of(first), bytes.subarray(1)))}`)
    const mint = hexToBytes((value - (value % span) + suffix).toString(16).padStart(64, '0'))
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

/** An address that a Solana program owns and nobody has a key to: the first off the curve, from bump 255 down. */
export function toProgramAddress(seeds: readonly Uint8Array[], programId: string): string {
  const tail = concatBytes(base58.decode(programId), utf8ToBytes('ProgramDerivedAddress'))
  for (let bump = 255; bump >= 0; bump--) {
    const bytes = sha256(concatBytes(...seeds, Uint8Array.of(bump), tail))
    if (!isOnCurve(bytes)) return base58.encode(bytes)
  }
  throw new RangeError('no program address: every bump gives a point on the curve')
}

/** What stands for the coin of a network where a token's address is expected. */
export function coinAddress(network: NetworkId): string {
  return network === 'solana' ? solanaCoinAddress : evmCoinAddress
}

/** A transaction hash from its place in the world: 0x and 64 lower-case hex digits, or 64 bytes in base58 (A10). */
export function toTxHash(network: NetworkId, seed: string, seq: number): string {
  // Pages of trades are full of them: those of Node take half the time.
  const place = `${seed}|tx|${network}|${seq}`
  if (network !== 'solana') return `0x${hash('sha256', place, 'hex')}`
  const bytes = hash('sha512', place, 'buffer')
  // With a first byte of 0 a few would be a letter too short.
  bytes[0] = Math.max(1, bytes[0] ?? 0)
  return base58.encode(bytes)
}

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
