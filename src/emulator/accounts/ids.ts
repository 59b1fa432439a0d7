/** Gives so many random bytes that nobody can guess. */
export type RandomBytes = (size: number) => Uint8Array

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const idLength = 20
const secretBytes = 24

/** An identifier such as `wh_3k9x…`: opaque, of 100 random bits (R31). */
export function drawId(prefix: string, randomBytes: RandomBytes): string {
  const letters = Array.from(randomBytes(idLength), (byte) => alphabet[byte % alphabet.length])
  return `${prefix}_${letters.join('')}`
}

/** A value to be kept secret, such as `whsec_…` or `sk_…`, of 192 random bits. */
export function drawSecret(prefix: string, randomBytes: RandomBytes): string {
  return `${prefix}_${Buffer.from(randomBytes(secretBytes)).toString('base64url')}`
}
