import { createEvent } from '../../src/app/testing/create-event.ts'
import { parseSecrets } from '../../src/signature/keys.ts'
import { sign } from '../../src/signature/sign.ts'
import { verify } from '../../src/signature/verify.ts'
import type { Scheme } from '../../src/sources/provider.ts'
import { verifySource } from '../../src/sources/verify.ts'
import { requestOf, sourceOf, vectors } from '../support/source-vectors.ts'

export interface MeasuredScheme {
  readonly scheme: Scheme | 'default source'
  /** Microseconds to verify one delivery. */
  readonly micros: number
}

const rounds = 2_000
const secret = 'the-secret-of-the-bench'

/** Verifies the same delivery again and again, by each scheme, without network and store. */
export async function measureSchemes(): Promise<readonly MeasuredScheme[]> {
  const raw = Buffer.from(JSON.stringify(createEvent('wallet.large_trade')))
  const secrets = parseSecrets(secret)
  const signature = sign(raw, secret)
  const micros = new Map<MeasuredScheme['scheme'], number>([
    ['default source', await microsOf(() => verify(raw, signature, secrets).ok)],
  ])
  for (const vector of vectors) {
    const source = await sourceOf(vector)
    const request = requestOf(vector)
    for (const verification of source.verify) {
      const single = { ...source, verify: [verification] }
      if (micros.has(verification.scheme) || !(await verifySource(single, request)).ok) continue
      micros.set(verification.scheme, await microsOf(async () => (await verifySource(single, request)).ok))
    }
  }
  return [...micros].map(([scheme, value]) => ({ scheme, micros: value }))
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
