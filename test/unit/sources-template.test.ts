import { createHash, createHmac, createSecretKey } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { signSource } from '../../src/sources/sign.ts'
import { resolveSources } from '../../src/sources/settings.ts'
import { parseTemplate, render } from '../../src/sources/template.ts'
import { verifySource, type VerifiedSource } from '../../src/sources/verify.ts'
import { counts } from '../counts.ts'

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
/** Brackets around any bytes: where a value stands beside the body, other bodies are rejected. */
const body = fc
  .uint8Array({ maxLength: 200 })
  .map((inside) => Uint8Array.from([...Buffer.from('['), ...inside, ...Buffer.from(']')]))
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

        const changed = Buffer.from(raw)
        changed[place % changed.length]! ^= 1
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

  describe('with the id in a header', () => {
    const settingsOf = (signed: string, unit = 's') => {
      const timestamp = signed.includes('{timestamp}') && { timestamp: { header: 'x-timestamp', unit } }
      const verify = { scheme: 'hmac-sha256', header: 'x-signature', signed, ...timestamp }
      return resolveSources({ desk: { path: '/desk', secrets: '0123456789abcdef', verify, id: 'header.x-id' } }, [])
    }

    test.each([
      '{header.x-id}{timestamp}.{body}',
      '{timestamp}{header.x-id}.{body}',
      '{header.x-nonce}{timestamp}.{header.x-id}.{body}',
      '{header.x-id}{body}{timestamp}',
      '{body}.{header.x-id}{timestamp}',
      '{timestamp}.{body}',
    ])('%s does not separate it from other values', (signed) => {
      expect(settingsOf(signed).problems).toEqual([
        expect.stringMatching(/^sources\.desk\.id must be .* separates from other values$/),
      ])
    })

    test.each([
      ['id={header.x-id};ts={timestamp};{body}', 'evt_1', true],
      ['id={header.x-id};ts={timestamp};{body}', 'a;ts=1', true],
      ['v1:{header.x-id}:{timestamp}:{body}', 'evt_1', true],
      ['v1:{header.x-id}:{timestamp}:{body}', 'evt:1', true],
      ['{bodyDigest}.{header.x-id}', 'a.b', true],
      ['{header.x-id}.{timestamp}.{body}', 'a.b', true],
      ['{body}.{header.x-id}.{header.x-nonce}', 'a.b', false],
      ['{header.x-id}.{header.x-nonce}.{body}', 'a.b', false],
      ['{header.x-id}::{header.x-nonce}.{body}', 'a:', false],
    ])('%s with %s: accepted is %s', async (signed, id, isAccepted) => {
      const source = { ...settingsOf(signed).sources[0]!, secrets: () => [secret], keys: null }
      const raw = Buffer.from('{}')
      const now = Date.UTC(2026, 0, 31)
      const sent = signSource(source.verify[0]!, { raw, key: secret.key, now, headers: { 'x-id': id } })
      const verdict = await verifySource(source, { headers: Object.entries(sent).flat(), raw, now })
      expect(verdict).toMatchObject(isAccepted ? { ok: true } : { ok: false, reason: 'malformed' })
    })

    test('one signature is valid for one id: bytes of values cannot move', async () => {
      // Texts with many separators, so that one text is cut in many ways.
      const word = fc.string({ unit: fc.constantFrom('a', '.', ':', '1'), minLength: 1, maxLength: 4 })
      const signedTemplate = fc.constantFrom(
        '{header.x-nonce}.{header.x-id}.{header.x-region}.{body}',
        '{header.x-nonce}:{header.x-id}.{body}',
        '{timestamp}.{header.x-id}.{header.x-region}{body}',
        '{body}.{header.x-region}.{header.x-id}:{header.x-nonce}',
        '{header.x-region}.{header.x-id}.{bodyDigest}',
        '{header.x-id}.{timestamp}.{body}',
        '{timestamp}:{header.x-id}:{body}',
        '{body}.{header.x-id}.{timestamp}',
      )
      const values = fc.record({ 'x-nonce': word, 'x-id': word, 'x-region': word, 'x-timestamp': word })
      const accepted = new Map<string, string>()
      await fc.assert(
        fc.asyncProperty(signedTemplate, values, fc.constantFrom('s', 'date'), async (signed, headersOf, unit) => {
          const { sources } = settingsOf(signed, unit)
          const source = { ...sources[0]!, secrets: () => [secret], keys: null }
          const raw = Buffer.from('{}')
          const [rendered] = source.verify[0]!.templates.map((each) =>
            render(each, {
              raw,
              target: undefined,
              timestamp: headersOf['x-timestamp'],
              header: (name) => headersOf[name as keyof typeof headersOf],
              item: () => undefined,
            }),
          )
          const text = rendered!.pieces.map((piece) => Buffer.from(piece).toString()).join('')
          const mac = createHmac('sha256', secret.key).update(text).digest('hex')
          const sent = { ...headersOf, 'x-signature': mac }
          const verdict = await verifySource(source, { headers: Object.entries(sent).flat(), raw, now: 0 })
          if (!verdict.ok) return
          const id = headersOf['x-id']
          const signedText = `${unit} ${signed} ${text}`
          expect(accepted.get(signedText) ?? id).toBe(id)
          accepted.set(signedText, id)
        }),
        { numRuns: counts.sourceCuts },
      )
      expect(accepted.size).toBeGreaterThan(0)
    })
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
