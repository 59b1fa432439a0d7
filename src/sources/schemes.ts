import { createHash, createHmac, createVerify, timingSafeEqual, verify, type KeyObject } from 'node:crypto'
import type { Scheme } from './provider.ts'
import type { Piece } from './template.ts'

const keyTypes: Readonly<Record<Scheme, string>> = {
  'hmac-sha256': 'secret',
  secret: 'secret',
  keccak256: 'secret',
  ed25519: 'ed25519',
  'ecdsa-sha256': 'ec',
  'jws-rs512': 'rsa',
}

/** Standard Webhooks mixes secrets and public keys in one list. */
export function isKeyOf(scheme: Scheme, key: KeyObject): boolean {
  return (key.asymmetricKeyType ?? key.type) === keyTypes[scheme]
}

type SignatureTest = (pieces: readonly Piece[], key: KeyObject) => (signature: Uint8Array) => boolean

/** Tests whether a signature of these bytes was made with this key. In constant time for shared secrets. */
export const signatureTests: Readonly<Record<Scheme, SignatureTest>> = {
  'hmac-sha256': (pieces, key) => equals(hmacOf(pieces, key)),
  secret: (_pieces, key) => equals(secretDigest(key.export())),
  keccak256: (pieces, key) => equals(keccakOf(pieces, key)),
  ed25519: (pieces, key) => {
    const bytes = joined(pieces)
    return (signature) => verify(null, bytes, key, signature)
  },
  'ecdsa-sha256': verifies('sha256'),
  'jws-rs512': verifies('RSA-SHA512'),
}

function equals(expected: Uint8Array): (signature: Uint8Array) => boolean {
  return (signature) => signature.length === expected.length && timingSafeEqual(signature, expected)
}

function verifies(algorithm: string): SignatureTest {
  return (pieces, key) => (signature) => {
    const verifier = createVerify(algorithm)
    for (const piece of pieces) verifier.update(piece)
    return verifier.verify(key, signature)
  }
}

export function hmacOf(pieces: readonly Piece[], key: KeyObject): Buffer {
  const hmac = createHmac('sha256', key)
  for (const piece of pieces) hmac.update(piece)
  return hmac.digest()
}

export function keccakOf(pieces: readonly Piece[], key: KeyObject): Buffer {
  const hash = createHash('keccak-256')
  for (const piece of pieces) hash.update(piece)
  return hash.update(key.export()).digest()
}

/** Static secrets are compared by their digests, which have equal lengths. */
export function secretDigest(secret: string | Uint8Array): Buffer {
  return createHash('sha256').update(secret).digest()
}

export function joined(pieces: readonly Piece[]): Buffer {
  return Buffer.concat(pieces.map((piece) => Buffer.from(piece)))
}
