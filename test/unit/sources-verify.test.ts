import { createHmac, createSecretKey, generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { identify } from '../../src/sources/identify.ts'
import { providerNames } from '../../src/sources/providers/index.ts'
import type { SourceRequest } from '../../src/sources/read-signature.ts'
import { signSource } from '../../src/sources/sign.ts'
import { parseTemplate } from '../../src/sources/template.ts'
import { rejectReasons } from '../../src/web/console/deliveries/reasons.ts'
import { verifySource, type SourceRejection } from '../../src/sources/verify.ts'
import { requestOf, settingsOf, sourceOf, vectors, type SourceVector } from '../support/source-vectors.ts'

/** `provider` and the number of the vector in its file. */
const titled = vectors.map((vector, index) => {
  const number = vectors.slice(0, index).filter(({ provider }) => provider === vector.provider).length + 1
  return [`${vector.provider} ${number}`, vector] as const
})

/** Headers without which the vector is not authentic. */
const signedHeaders: Readonly<Record<string, readonly string[]>> = {
  quicknode: ['x-qn-nonce', 'x-qn-timestamp', 'x-qn-signature'],
  'quicknode-alerts': ['x-qn-nonce', 'x-qn-timestamp', 'x-qn-signature'],
  tenderly: ['x-tenderly-signature', 'date'],
  'openzeppelin-monitor': ['x-signature', 'x-timestamp'],
  'coinbase-cdp': ['x-hook0-signature', 'content-type'],
  circle: ['x-circle-signature', 'x-circle-key-id'],
  github: ['x-hub-signature-256'],
}

function isSigned({ provider }: SourceVector, name: string): boolean {
  return signedHeaders[provider]?.includes(name.toLowerCase()) ?? true
}

function withHeader(vector: SourceVector, name: string, values: readonly string[]): SourceRequest {
  const others = Object.entries(vector.headers).filter(([other]) => other !== name)
  return { ...requestOf(vector), headers: [...others.flat(), ...values.flatMap((value) => [name, value])] }
}

test('every provider has a vector', () => {
  expect(new Set(vectors.map(({ provider }) => provider))).toEqual(new Set(providerNames))
})

describe.each(titled)('%s', (_title, vector) => {
  const isStatic = ['helius', 'goldsky'].includes(vector.provider)
  const signed = Object.entries(vector.headers).filter(([name]) => isSigned(vector, name))

  test('is accepted and identified', async () => {
    const source = await sourceOf(vector)
    const request = requestOf(vector)
    const verdict = await verifySource(source, request)
    expect(verdict).toMatchObject({ ok: true, isOld: false })
    const result = identify(source, {
      ...request,
      receivedAt: vector.now,
      covered: verdict.ok ? verdict.covered : [],
    })
    if (vector.identity !== undefined) expect(result).toMatchObject({ kind: 'event', event: vector.identity })
    else if (vector.testStatus !== undefined) expect(result).toEqual({ kind: 'test', status: vector.testStatus })
    else expect(result).toEqual({ kind: 'unusable', reason: vector.unusable })
  })

  // A static secret covers no body.
  if (!isStatic)
    test('is rejected with any changed byte of the body', async () => {
      const source = await sourceOf(vector)
      const request = requestOf(vector)
      for (const index of [0, Math.floor(request.raw.length / 2), request.raw.length - 1]) {
        const raw = Buffer.from(request.raw)
        raw[index] = (raw[index] ?? 0) ^ 1
        expect(await verifySource(source, { ...request, raw })).toEqual({ ok: false, reason: 'mismatch' })
      }
      const longer = Buffer.concat([request.raw, Buffer.from('\n')])
      expect(await verifySource(source, { ...request, raw: longer })).toEqual({ ok: false, reason: 'mismatch' })
    })

  if (vector.secret !== undefined)
    test('is rejected with another secret, and accepted if both are configured', async () => {
      const source = await sourceOf(vector)
      const other = await sourceOf({ ...vector, secret: otherSecret(vector) })
      const request = requestOf(vector)
      expect(await verifySource(other, request)).toEqual({ ok: false, reason: 'mismatch' })
      const both = { ...source, secrets: () => [...other.secrets(), { label: 'new', key: source.secrets()[0]!.key }] }
      expect(await verifySource(both, request)).toMatchObject({ ok: true, label: 'new' })
    })

  test.each(signed)('is rejected with a missing, empty, repeated, joined or changed %s', async (name, value) => {
    const source = await sourceOf(vector)
    const reasonFor = async (...values: readonly string[]) => verifySource(source, withHeader(vector, name, values))
    expect(await reasonFor()).toEqual({ ok: false, reason: 'missing' })
    expect(await reasonFor('')).toEqual({ ok: false, reason: 'missing' })
    expect(await reasonFor(value, value)).toEqual({ ok: false, reason: 'repeated' })
    expect(await reasonFor(`${value}, ${value}`)).toMatchObject({ ok: false })
    expect(await reasonFor(`${value}0`)).toMatchObject({ ok: false })
    expect(await reasonFor(value.slice(0, -1))).toMatchObject({ ok: false })
  })

  test('is rejected by every other provider, even with its header names', async () => {
    for (const other of vectors) {
      if (other.provider === vector.provider) continue
      const source = await sourceOf(other)
      const headers = Object.entries(vector.headers).map(([, value]) => value)
      const renamed = Object.keys(other.headers).flatMap((name, index) => [name, headers[index % headers.length] ?? ''])
      const request = requestOf(vector)
      expect(await verifySource(source, request), other.provider).toMatchObject({ ok: false })
      expect(await verifySource(source, { ...request, headers: renamed }), other.provider).toMatchObject({ ok: false })
    }
  })
})

/** Every other way to cut the signed text: bytes of one part move into its neighbour, so the signature stays valid. */
test('no part of a delivery can take in bytes of its neighbour', async () => {
  const nodes = vectors.find(({ provider }) => provider === 'quicknode')!
  const alerts = vectors.find(({ provider, identity }) => provider === 'tenderly' && identity !== undefined)!
  const coinbase = vectors.find(
    ({ headers }) => headers['x-event-id'] !== undefined && headers['X-Hook0-Signature']?.includes('x-event-id'),
  )!
  const nodeHeaders = Object.fromEntries(
    Object.entries(nodes.headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
  const { 'x-qn-nonce': nonce = '', 'x-qn-timestamp': time = '' } = nodeHeaders
  const dateName = Object.keys(alerts.headers).find((name) => name.toLowerCase() === 'date')!
  const cuts: SourceVector[] = []
  for (let at = 1; at < nodes.body.length; at++) {
    const digits = /^\d+/.exec(nodes.body.slice(at))?.[0] ?? ''
    const headers = { ...nodeHeaders, 'x-qn-nonce': nonce + time + nodes.body.slice(0, at), 'x-qn-timestamp': digits }
    if (digits !== '') cuts.push({ ...nodes, headers, body: nodes.body.slice(at + digits.length) })
  }
  for (let at = 1; at < time.length; at++) {
    const headers = { ...nodeHeaders, 'x-qn-timestamp': time.slice(0, at) }
    cuts.push({ ...nodes, headers, body: time.slice(at) + nodes.body })
  }
  const sentDate = alerts.headers[dateName]!
  for (let at = 1; at < sentDate.length; at++) {
    const headers = { ...alerts.headers, [dateName]: sentDate.slice(at).trim() }
    if (sentDate[at] !== ' ') cuts.push({ ...alerts, headers, body: alerts.body + sentDate.slice(0, at) })
  }
  for (let at = 1; at < alerts.body.length; at++) {
    const date = alerts.body.slice(at) + alerts.headers[dateName]!
    cuts.push({ ...alerts, headers: { ...alerts.headers, [dateName]: date }, body: alerts.body.slice(0, at) })
  }
  const id = coinbase.headers['x-event-id']!
  const words = coinbase.headers['x-event-type']!.split('.')
  for (let at = 1; at < words.length; at++) {
    const moved = { 'x-event-id': [id, ...words.slice(0, at)].join('.'), 'x-event-type': words.slice(at).join('.') }
    cuts.push({ ...coinbase, headers: { ...coinbase.headers, ...moved } })
  }
  cuts.push({
    ...coinbase,
    headers: {
      ...coinbase.headers,
      'content-type': `${coinbase.headers['content-type']}.${id}`,
      'x-event-id': words[0]!,
      'x-event-type': words.slice(1).join('.'),
    },
  })
  expect(new Set(cuts.map(({ provider }) => provider)).size).toBe(3)
  for (const cut of cuts) {
    const verdict = await verifySource(await sourceOf(cut), requestOf(cut))
    // All bodies of one signature are one entry in quarantine.
    const [whole] = [nodes, alerts].filter(({ provider }) => provider === cut.provider)
    const original = whole && (await verifySource(await sourceOf(whole), requestOf(whole)))
    if (verdict.ok && original?.ok)
      expect([verdict.isBodyLoose, verdict.signedDigest()]).toEqual([true, original.signedDigest()])
    else expect(verdict, JSON.stringify(cut.headers)).toEqual({ ok: false, reason: 'malformed' })
  }
})

test('QuickAlerts: a part of the target cannot pass as the beginning of the body', async () => {
  const vector = vectors.filter(({ provider }) => provider === 'quicknode-alerts')[1]!
  const request = requestOf(vector)
  const raw = Buffer.concat([Buffer.from(request.target ?? ''), request.raw])
  for (const moved of [
    { raw },
    { raw: request.raw.subarray(5), target: `${request.target}${vector.body.slice(0, 5)}` },
  ]) {
    const verdict = await verifySource(await sourceOf(vector), { ...request, ...moved })
    expect(verdict).toMatchObject({ ok: true, isBodyLoose: true })
  }
})

test('brackets in the target matter only if the signature covers it', async () => {
  for (const provider of ['quicknode', 'tenderly', 'standard-webhooks']) {
    const vector = vectors.find((each) => each.provider === provider && each.identity !== undefined)!
    const request = { ...requestOf(vector), target: '/hooks/a?tags[]=b' }
    expect(await verifySource(await sourceOf(vector), request)).toMatchObject({ ok: true, isBodyLoose: false })
  }
})

test('signed headers are signed as their bytes', async () => {
  const signed = ['{header.x-name}.{body}']
  const secrets = () => [{ label: 'main', key: createSecretKey(Buffer.from('a-long-secret')) }]
  const verify = [
    { scheme: 'hmac-sha256', header: 'x-signature', templates: signed.map(parseTemplate), idHeaders: [] },
  ] as const
  const mac = createHmac('sha256', 'a-long-secret').update('Überweisung.{}').digest('hex')
  const headers = ['x-name', Buffer.from('Überweisung').toString('latin1'), 'x-signature', mac]
  const source = { verify, rejectsOld: false, secrets, keys: null }
  expect(await verifySource(source, { headers, raw: Buffer.from('{}'), now: 0 })).toMatchObject({ ok: true })
  // A framework may have decoded it. Such characters could stand for the bytes of others.
  const decoded = headers.with(1, '\u0141berweisung')
  const verdict = await verifySource(source, { headers: decoded, raw: Buffer.from('{}'), now: 0 })
  expect(verdict).toEqual({ ok: false, reason: 'malformed' })
})

/** Of the same form. */
function otherSecret({ secret = '' }: SourceVector): string {
  if (secret.startsWith('whpk_')) return `whpk_${Buffer.alloc(32, 9).toString('base64')}`
  return secret.startsWith('whsec_Mf') ? `whsec_${Buffer.alloc(24, 9).toString('base64')}` : `${secret}0`
}

const vectorOf = (provider: string) => vectors.find((vector) => vector.provider === provider)!

test.each(['missing', 'malformed', 'repeated', 'unknown_key', 'mismatch', 'old_timestamp'] satisfies SourceRejection[])(
  'the console explains %s',
  (reason) => expect(rejectReasons[`signature_${reason}`]).toBeDefined(),
)

test('a static secret may have characters beyond ASCII: each byte of a header is a character', async () => {
  const key = createSecretKey(Buffer.from('geheim-ü-€'))
  const source = { ...settingsOf('helius'), secrets: () => [{ label: 'main', key }], keys: null }
  const raw = Buffer.from('{}')
  const sent = signSource(source.verify[0]!, { raw, key, now: 0 })
  expect(Object.values(sent)).toEqual([Buffer.from('geheim-ü-€').toString('latin1')])
  expect(await verifySource(source, { headers: Object.entries(sent).flat(), raw, now: 0 })).toMatchObject({ ok: true })
})

const hourMs = 3_600_000

test.each(['stripe', 'standard-webhooks'])(
  '%s signs again on retries: an old or early signature is rejected',
  async (name) => {
    const vector = vectorOf(name)
    const source = await sourceOf(vector)
    for (const now of [vector.now + hourMs, vector.now - hourMs]) {
      const verdict = await verifySource(source, { ...requestOf(vector), now })
      expect(verdict).toEqual({ ok: false, reason: 'old_timestamp' })
    }
  },
)

test.each(['quicknode', 'tenderly', 'openzeppelin-monitor', 'coinbase-cdp'])(
  '%s may retry with the first signature: its age is only recorded',
  async (name) => {
    const vector = vectorOf(name)
    const verdict = await verifySource(await sourceOf(vector), { ...requestOf(vector), now: vector.now + hourMs })
    expect(verdict).toMatchObject({
      ok: true,
      isOld: true,
      timestamp: Math.floor(vector.now / 1_000) * 1_000 - 4_000 + (name === 'openzeppelin-monitor' ? 123 : 0),
    })
  },
)

const [symmetric, , asymmetric] = vectors.filter(({ provider }) => provider === 'standard-webhooks')
const signatureOf = (vector: SourceVector) => vector.headers['webhook-signature'] ?? ''

test('Standard Webhooks accepts any signature of the list, and ignores unknown versions', async () => {
  const list = `v9,AAAA ${signatureOf(asymmetric!)} ${signatureOf(symmetric!)}`
  for (const vector of [symmetric!, asymmetric!]) {
    const request = withHeader(vector, 'webhook-signature', [list])
    expect(await verifySource(await sourceOf(vector), request)).toMatchObject({ ok: true })
  }
})

test('Standard Webhooks rejects a list of more than 8 signatures', async () => {
  const list = Array.from({ length: 9 }, () => signatureOf(symmetric!)).join(' ')
  const request = withHeader(symmetric!, 'webhook-signature', [list])
  expect(await verifySource(await sourceOf(symmetric!), request)).toEqual({ ok: false, reason: 'malformed' })
})

test('Stripe accepts the second of two signatures, as during a rotation', async () => {
  const vector = vectorOf('stripe')
  const [time, signature] = vector.headers['Stripe-Signature']!.split(',')
  const request = withHeader(vector, 'Stripe-Signature', [`${time},v1=${'0'.repeat(64)},${signature},v0=00`])
  expect(await verifySource(await sourceOf(vector), request)).toMatchObject({ ok: true })
})

test("Coinbase accepts the signature that Hook0's own tests publish", async () => {
  // https://github.com/hook0/hook0/blob/86a9d665/output-worker/src/work.rs, create_signature_v1
  const v1 = 'bc521546ba5de381b12f135782d2008b028c3065c191760b12b76850a8fc8f51'
  const headers = [
    ['X-Hook0-Signature', `t=1636936200,h=x-event-id x-event-type,v1=${v1}`],
    ['X-Event-Id', '1a01cb48-5142-4d9b-8f90-d20cca61f0ee'],
    ['X-Event-Type', 'service.resource.verb'],
  ].flat()
  const secrets = () => [{ label: 'main', key: createSecretKey(Buffer.from('secret')) }]
  const source = { ...settingsOf('coinbase-cdp'), secrets, keys: null }
  const request = { headers, raw: Buffer.from('hello !'), now: 1_636_936_200_000 }
  expect(await verifySource(source, request)).toMatchObject({ ok: true, covered: ['x-event-id', 'x-event-type'] })
})

test('Coinbase may list headers in any case', async () => {
  const source = await sourceOf(vectorOf('coinbase-cdp'))
  const raw = Buffer.from('{}')
  const key = source.secrets()[0]!.key
  const id = '123e4567-e89b-12d3-a456-426614174000'
  const mac = createHmac('sha256', key).update(`1769868202.X-Event-Id.${id}.{}`).digest('hex')
  const headers = ['x-hook0-signature', `t=1769868202,h=X-Event-Id,v1=${mac}`, 'X-EVENT-ID', id]
  const verdict = await verifySource(source, { headers, raw, now: 1_769_868_202_000 })
  expect(verdict).toMatchObject({ ok: true, covered: ['x-event-id'] })
})

test('Coinbase needs v1: v0 covers no headers', async () => {
  const vector = vectorOf('coinbase-cdp')
  const [time, v0] = vector.headers['X-Hook0-Signature']!.split(',')
  const request = withHeader(vector, 'X-Hook0-Signature', [`${time},${v0}`])
  expect(await verifySource(await sourceOf(vector), request)).toEqual({ ok: false, reason: 'missing' })
})

describe('fetched keys', () => {
  const vector = vectorOf('circle')

  test.each([
    ['unknown', 'unknown_key'],
    ['unavailable', 'keys_unavailable'],
  ] as const)('a key that is %s gives %s', async (found, reason) => {
    const source = { ...(await sourceOf(vector)), keys: { find: () => Promise.resolve(found) } }
    expect(await verifySource(source, requestOf(vector))).toEqual({ ok: false, reason })
  })

  test('a key of another kind is a mismatch', async () => {
    const { publicKey } = generateKeyPairSync('ed25519')
    const source = { ...(await sourceOf(vector)), keys: { find: () => Promise.resolve(publicKey) } }
    expect(await verifySource(source, requestOf(vector))).toEqual({ ok: false, reason: 'mismatch' })
  })

  test.each([
    { alg: 'none', kid: 'a' },
    { alg: 'HS512', kid: 'a' },
    { alg: 'RS512' },
    { alg: 'RS512', kid: 'a', b64: false, crit: ['b64'] },
  ])('a JWS with the header %j is malformed', async (header) => {
    const jws = vectorOf('fireblocks')
    const value = `${Buffer.from(JSON.stringify(header)).toString('base64url')}..AAAA`
    const request = withHeader(jws, 'Fireblocks-Webhook-Signature', [value])
    expect(await verifySource(await sourceOf(jws), request)).toEqual({ ok: false, reason: 'malformed' })
  })
})
