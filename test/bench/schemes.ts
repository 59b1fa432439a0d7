import type { ProviderName } from '../../schema/index.ts'
import { createSecretKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createEvent } from '../../src/app/testing/create-event.ts'
import { sign } from '../../src/signature/sign.ts'
import { parseSecrets } from '../../src/signature/keys.ts'
import { verify } from '../../src/signature/verify.ts'
import type { Scheme, Verification } from '../../src/sources/provider.ts'
import { providers } from '../../src/sources/providers/index.ts'
import { signSource } from '../../src/sources/sign.ts'
import { parseTemplate } from '../../src/sources/template.ts'
import { verifySource } from '../../src/sources/verify.ts'

export interface MeasuredScheme {
  readonly scheme: Scheme | 'default source'
  /** Microseconds to verify one delivery. */
  readonly micros: number
}

const rounds = 2_000
const secret = 'the-secret-of-the-bench'
const shared = createSecretKey(Buffer.from(secret))
const keyId = '879dc113-5ca4-4ff7-a6b7-54652083fcf8'

function verificationOf(provider: ProviderName): Verification {
  const [verification] = providers[provider].verify
  if (verification === undefined) throw new Error(`${provider} has no signature`)
  return verification
}

/** An example of each scheme, and the keys that sign and verify. */
const examples: Readonly<Record<Scheme, readonly [Verification, signing: KeyObject, verifying: KeyObject]>> = {
  'hmac-sha256': [verificationOf('alchemy'), shared, shared],
  secret: [verificationOf('helius'), shared, shared],
  keccak256: [verificationOf('moralis'), shared, shared],
  ed25519: withPair({ scheme: 'ed25519', header: 'x-signature', encoding: 'base64' }, generateKeyPairSync('ed25519')),
  'ecdsa-sha256': withPair(verificationOf('circle'), generateKeyPairSync('ec', { namedCurve: 'prime256v1' })),
  'jws-rs512': withPair(verificationOf('fireblocks'), generateKeyPairSync('rsa', { modulusLength: 2_048 })),
}

function withPair(verification: Verification, pair: { readonly privateKey: KeyObject; readonly publicKey: KeyObject }) {
  return [verification, pair.privateKey, pair.publicKey] as const
}

/** Verifies the same delivery again and again, by each scheme, without network and store. */
export async function measureSchemes(): Promise<readonly MeasuredScheme[]> {
  const raw = Buffer.from(JSON.stringify(createEvent('wallet.large_trade')))
  const secrets = parseSecrets(secret)
  const signature = sign(raw, secret)
  const results: MeasuredScheme[] = [
    { scheme: 'default source', micros: await microsOf(() => verify(raw, signature, secrets).ok) },
  ]
  for (const [scheme, [{ signed = ['{body}'], ...rest }, signing, verifying]] of Object.entries(examples)) {
    const verification = { ...rest, templates: signed.map(parseTemplate), idHeaders: [] }
    const now = Date.now()
    const headers = Object.entries(signSource(verification, { raw, key: signing, keyId, now })).flat()
    const source = {
      verify: [verification],
      rejectsOld: false,
      secrets: () => [{ label: 'main', key: verifying }],
      keys: { find: () => Promise.resolve(verifying) },
    }
    const micros = await microsOf(async () => (await verifySource(source, { raw, headers, now })).ok)
    results.push({ scheme: scheme as Scheme, micros })
  }
  return results
}

async function microsOf(verifyOnce: () => boolean | Promise<boolean>): Promise<number> {
  let startedAt = 0
  // The first half warms up.
  for (let round = -rounds; round < rounds; round++) {
    if (round === 0) startedAt = performance.now()
    if (!(await verifyOnce())) throw new Error('the bench signs wrongly')
  }
  return ((performance.now() - startedAt) * 1_000) / rounds
}
