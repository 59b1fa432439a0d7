import { createHash, createHmac, createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { signSource } from '../../src/sources/sign.ts'
import { resolveSources } from '../../src/sources/settings.ts'
import { parseTemplate, render } from '../../src/sources/template.ts'
import { verifySource, type VerifiedSource } from '../../src/sources/verify.ts'

const sha256 = (...chunks: readonly (string | Uint8Array)[]) =>
  chunks.reduce((hash, chunk) => hash.update(chunk), createHash('sha256')).digest('hex')

/** Text between placeholders. */
const literal = fc.string({ unit: fc.constantFrom('.', ':', '-', '\n', '|', 'a', 'é', '\u{1f600}'), maxLength: 3 })
const headerName = fc.constantFrom('x-nonce', 'x-id', 'x-region')
const placeholder = fc.oneof(
  fc.constantFrom('{body}', '{bodyDigest}', '{timestamp}'),
  headerName.map((name) => `{header.${name}}`),
)
/** A template that covers the body and the timestamp. */
const template = fc
  .tuple(fc.array(fc.tuple(literal, placeholder), { maxLength: 4 }), fc.constantFrom('{body}', '{bodyDigest}'), literal)
  .map(([pairs, body, end]) => `${pairs.flat().join('')}{timestamp}${body}${end}`)
const headerValue = fc.string({ unit: fc.constantFrom('a', 'Z', '7', '-', '.'), minLength: 1, maxLength: 12 })
const body = fc.uint8Array({ maxLength: 200 })
const headers = fc.record({ 'x-nonce': headerValue, 'x-id': headerValue, 'x-region': headerValue })

describe('parseTemplate', () => {
  test.each(['', 'signed', '{timestamp}', '{header.x-id}.{timestamp}', '{item.t}', '{signedHeaders}'])(
    '%j is rejected, because it covers no body',
    (text) => {
      expect(() => parseTemplate(text)).toThrow('must contain {body} or {bodyDigest}')
    },
  )

  test.each(['{body', 'body}', '{{body}}', '{Body}', '{}', '{header.}', '{header.X-Id}', '{header}', '{secret}'])(
    '%j is rejected with its token',
    (text) => {
      expect(() => parseTemplate(`{body}${text}`)).toThrow(/^must not contain [{}]/)
    },
  )

  test('renders what replacing the placeholders gives, without copying the body', () => {
    fc.assert(
      fc.property(template, body, headers, fc.nat(2e9), (text, raw, values, time) => {
        const rendered = render(parseTemplate(text), {
          raw,
          target: undefined,
          timestamp: String(time),
          header: (name) => Object.entries(values).find(([known]) => known === name)?.[1],
          item: () => undefined,
        })!
        const replaced = text.split(/(\{[^}]*\})/).map((part): Uint8Array => {
          if (part === '{body}') return raw
          if (part === '{bodyDigest}') return Buffer.from(sha256(raw))
          if (part === '{timestamp}') return Buffer.from(String(time))
          const name = /^\{header\.(.*)\}$/.exec(part)?.[1]
          return Buffer.from(name === undefined ? part : values[name as keyof typeof values])
        })
        expect(Buffer.concat(rendered.pieces.map((piece) => Buffer.from(piece)))).toEqual(Buffer.concat(replaced))
        if (text.includes('{body}')) expect(rendered.pieces).toContain(raw)
        expect(new Set(rendered.covered)).toEqual(new Set(text.match(/x-[a-z]+/g)))
      }),
    )
  })

  test('returns null if a value is missing', () => {
    const values = {
      raw: Buffer.from('{}'),
      target: undefined,
      timestamp: undefined,
      header: () => undefined,
      item: () => undefined,
    }
    for (const text of ['{body}{timestamp}', '{body}{header.x-id}', '{body}{item.t}', '{targetBodyDigest}']) {
      expect(render(parseTemplate(text), values)).toBeNull()
    }
  })
})

describe('a source with its own template', () => {
  const secret = { label: 'main', key: createSecretKey(Buffer.from('0123456789abcdef')) }
  const toSource = (signed: string): VerifiedSource => {
    const timestamp = { header: 'X-Timestamp', unit: 's', toleranceSeconds: 300 }
    const verify = { scheme: 'hmac-sha256', header: 'X-Signature', encoding: 'base64', signed, timestamp }
    const { sources, problems } = resolveSources({ desk: { path: '/desk', secrets: '0123456789abcdef', verify } }, [])
    expect(problems).toEqual([])
    return { ...sources[0]!, secrets: () => [secret], keys: null }
  }

  test('accepts deliveries that it signs, and none with one changed value', async () => {
    await fc.assert(
      fc.asyncProperty(template, body, headers, fc.nat(), async (signed, raw, values, place) => {
        const source = toSource(signed)
        const now = Date.UTC(2026, 0, 31)
        const sent = signSource(source.verify[0]!, { raw, key: secret.key, now, headers: values })
        const rawHeaders = Object.entries(sent).flat()
        expect(await verifySource(source, { headers: rawHeaders, raw, now })).toMatchObject({ ok: true, label: 'main' })

        const changed = Buffer.from(raw.length === 0 ? [0] : raw)
        changed[place % changed.length]! ^= raw.length === 0 ? 0 : 1
        const bodies = await verifySource(source, { headers: rawHeaders, raw: changed, now })
        expect(bodies).toEqual({ ok: false, reason: 'mismatch' })
        for (const name of new Set(signed.match(/x-[a-z]+/g))) {
          const others = Object.entries({ ...sent, [name]: `${sent[name]}+` }).flat()
          expect(await verifySource(source, { headers: others, raw, now })).toEqual({ ok: false, reason: 'mismatch' })
        }
      }),
      { numRuns: 50 },
    )
  })

  test('an id in a header is one text: nothing of its neighbours can move into it', async () => {
    const settingsOf = (signed: string) => {
      const timestamp = { header: 'x-timestamp', unit: 's' }
      const verify = { scheme: 'hmac-sha256', header: 'x-signature', signed, timestamp }
      return resolveSources({ desk: { path: '/desk', secrets: '0123456789abcdef', verify, id: 'header.x-id' } }, [])
    }
    for (const signed of [
      '{header.x-id}{timestamp}.{body}',
      '{timestamp}{header.x-id}.{body}',
      '{header.x-id}{body}{timestamp}',
    ])
      expect(settingsOf(signed).problems).toEqual([
        expect.stringMatching(/^sources\.desk\.id must be .* with text before and after/),
      ])
    const source = {
      ...settingsOf('{timestamp}.{header.x-id}.{header.x-nonce}.{body}').sources[0]!,
      secrets: () => [secret],
      keys: null,
    }
    const now = Date.UTC(2026, 0, 31)
    const raw = Buffer.from('{}')
    const sent = signSource(source.verify[0]!, {
      raw,
      key: secret.key,
      now,
      headers: { 'x-id': 'a', 'x-nonce': 'b.c' },
    })
    const verdictFor = (id: string, nonce: string) =>
      verifySource(source, { headers: Object.entries({ ...sent, 'x-id': id, 'x-nonce': nonce }).flat(), raw, now })
    expect(await verdictFor('a', 'b.c')).toMatchObject({ ok: true })
    expect(await verdictFor('a.b', 'c')).toEqual({ ok: false, reason: 'malformed' })
  })

  test('takes {bodyDigest} from the body, never from a header', async () => {
    const source = toSource('{timestamp}{bodyDigest}')
    const now = Date.UTC(2026, 0, 31)
    const digest = sha256('{"paid":1}')
    const signature = createHmac('sha256', secret.key)
      .update(`${now / 1_000}${digest}`)
      .digest('base64')
    const headers = ['X-Timestamp', String(now / 1_000), 'X-Signature', signature, 'X-Content-Hash', digest]
    expect(await verifySource(source, { headers, raw: Buffer.from('{"paid":1}'), now })).toMatchObject({ ok: true })
    expect(await verifySource(source, { headers, raw: Buffer.from('{"paid":9}'), now })).toEqual({
      ok: false,
      reason: 'mismatch',
    })
  })

  test.each(['12x', '-1', '1.5', '', ' 1769817600'])('rejects the timestamp %j', async (time) => {
    const source = toSource('{timestamp}{body}')
    const signature = createHmac('sha256', secret.key).update(`${time}{}`).digest('base64')
    const headers = ['x-timestamp', time, 'x-signature', signature]
    const verdict = await verifySource(source, { headers, raw: Buffer.from('{}'), now: 0 })
    expect(verdict).toEqual({ ok: false, reason: time === '' ? 'missing' : 'malformed' })
  })
})
