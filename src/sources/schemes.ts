import { createHash, createHmac, createVerify, timingSafeEqual, verify, type KeyObject } from 'node:crypto'
import { keccak_256 } from '@noble/hashes/sha3.js'
import type { Scheme } from './provider.ts'
import type { Piece } from './template.ts'

/** Standard Webhooks mixes secrets and public keys in one list. */
export function canSign(scheme: Scheme, key: KeyObject): boolean {
  switch (scheme) {
    case 'ed25519':
      return key.asymmetricKeyType === 'ed25519'
    case 'ecdsa-sha256':
      return key.asymmetricKeyType === 'ec'
    case 'jws-rs512':
      return key.asymmetricKeyType === 'rsa'
    case 'hmac-sha256':
    case 'secret':
    case 'keccak256':
      return key.type === 'secret'
  }
}

type SignatureTest = (pieces: readonly Piece[], key: KeyObject) => (signature: Uint8Array) => boolean

/** Whether a signature of these bytes was made with this key. In constant time for shared secrets. */
export const signatureTests: Readonly<Record<Scheme, SignatureTest>> = {
  'hmac-sha256': (pieces, key) => equals(hmacOf(pieces, key)),
  secret: (_pieces, key) => equals(secretDigest(key.export())),
  keccak256: (pieces, key) => equals(keccakOf(pieces, key)),
  ed25519: (pieces, key) => {
    const bytes = Buffer.concat(pieces.map((piece) => Buffer.from(piece)))
    return (signature) => verify(null, bytes, key, signature)
  },
  'ecdsa-sha256': verifies('sha256'),
  'jws-rs512': verifies('RSA-SHA512'),
}

function verifies(algorithm: string): SignatureTest {
  return (pieces, key) => (signature) => {
    const verifier = createVerify(algorithm)
    for (const piece of pieces) verifier.update(piece)
    return verifier.verify(key, signature)
  }
}

function equals(expected: Uint8Array): (signature: Uint8Array) => boolean {
  return (signature) => signature.length === expected.length && timingSafeEqual(signature, expected)
}

export function hmacOf(pieces: readonly Piece[], key: KeyObject): Buffer {
  const hmac = createHmac('sha256', key)
  for (const piece of pieces) hmac.update(piece)
  return hmac.digest()
}

export function keccakOf(pieces: readonly Piece[], key: KeyObject): Uint8Array {
  const hash = keccak_256.create()
  for (const piece of pieces) hash.update(Buffer.from(piece))
  return hash.update(key.export()).digest()
}

/** Static secrets are compared by their digests, which have equal lengths. */
export function secretDigest(secret: string | Uint8Array): Buffer {
  return createHash('sha256').update(secret).digest()
}
