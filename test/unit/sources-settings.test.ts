import { describe, expect, test } from 'vitest'
import { providerNames } from '../../src/sources/providers/index.ts'
import { readSecrets } from '../../src/sources/secrets.ts'
import { resolveSources } from '../../src/sources/settings.ts'

const secret = '0123456789abcdef'
const alchemy = { provider: 'alchemy', path: '/hooks/alchemy', secrets: secret }
const desk = {
  path: '/hooks/desk',
  secrets: { env: 'DESK_SECRET' },
  verify: {
    scheme: 'hmac-sha256',
    header: 'X-Signature',
    encoding: 'hex',
    signed: '{timestamp}.{body}',
    timestamp: { header: 'x-timestamp', unit: 's', toleranceSeconds: 300 },
  },
  id: 'body.id',
  type: 'body.event',
  createdAt: 'body.time',
  key: ['body.network', 'body.address'],
}

const verifying = (change: object) => ({ ...desk, verify: { ...desk.verify, ...change } })
const fireblocks = { provider: 'fireblocks', path: '/a' }
const pathRule = '.path must be a path such as /hooks/alchemy'
const noReference = ' must be the secret itself: for the name of a variable or file, use { env } or { file }'
const secretsRule = '.secrets must be a text, { env } or { file }, or an object of these by label'
const nameRule = ' must have a name of a-z, 0-9 and "-" that begins with a letter, at most 40 characters'

const problemsOf = (entry: unknown) => resolveSources({ tested: entry }, ['/webhooks', '/healthz']).problems

describe('resolveSources', () => {
  test('a timestamp with tolerance rejects old deliveries; one without is recorded only', () => {
    const { header, unit } = desk.verify.timestamp
    const recording = { ...verifying({ timestamp: { header, unit } }), path: '/b' }
    const { sources, problems } = resolveSources({ desk, recording }, [])
    expect(problems).toEqual([])
    expect(sources).toMatchObject([{ rejectsOld: true }, { rejectsOld: false }])
  })

  test('settings override what a provider reads from the body', () => {
    const { sources, problems } = resolveSources({ alchemy: { ...alchemy, type: 'body.event.network', key: [] } }, [])
    expect(problems).toEqual([])
    expect(sources).toMatchObject([{ type: 'body.event.network', key: [], id: 'body.id' }])
  })

  test('fetched keys need an API key where the provider does, and may have another URL', () => {
    const url = 'https://api.circle.com/v2/cpn/notifications/publicKey/{keyId}'
    const { sources, problems } = resolveSources(
      {
        circle: { provider: 'circle', path: '/circle', keys: { url, apiKey: { file: 'circle-key' } } },
        fireblocks: { provider: 'fireblocks', path: '/fireblocks' },
      },
      [],
    )
    expect(problems).toEqual([])
    expect(sources).toMatchObject([
      { keyEndpoint: { url, format: 'circle', apiKey: { file: 'circle-key' } }, secretOrigins: {} },
      { keyEndpoint: { url: 'https://keys.fireblocks.io/.well-known/jwks.json', apiKey: null } },
    ])
  })

  test.each([
    ['Desk', nameRule],
    ['d'.repeat(41), nameRule],
    ['default', ' must have another name: the INBOX_ settings describe the source `default`'],
  ])('the name %s is rejected', (name, problem) => {
    expect(resolveSources({ [name]: alchemy }, []).problems).toEqual([`sources.${name}${problem}`])
  })

  test('a path belongs to one source, and none to the inbox', () => {
    const { problems, sources } = resolveSources(
      { a: alchemy, b: alchemy, c: { ...alchemy, path: '/webhooks' }, d: { ...alchemy, path: '/hooks/alchemy/' } },
      ['/webhooks'],
    )
    expect(problems).toEqual([
      'sources.b.path must be another path: /hooks/alchemy is taken by sources.a',
      'sources.c.path must be another path: /webhooks is taken by the inbox',
    ])
    expect(sources.map(({ name }) => name)).toEqual(['a', 'd'])
  })

  test.each([
    [undefined, ' must be an object with path and provider or verify'],
    [{ ...alchemy, path: 'hooks' }, pathRule],
    [{ ...alchemy, path: '/hooks/:id' }, pathRule],
    [{ ...alchemy, path: '/hooks?a=1' }, pathRule],
    [{ provider: 'alchemy', secrets: secret }, pathRule],
    [{ ...alchemy, pth: '/' }, '.pth is not an option (did you mean path?)'],
    [
      { ...alchemy, provider: 'alchmy' },
      `.provider must be one of ${providerNames.join(', ')} (got "alchmy") (did you mean alchemy?)`,
    ],
    [{ ...alchemy, provider: 7 }, '.provider must be the name of a provider'],
    [{ path: '/a', secrets: secret }, ' must have a provider or verify'],
    [{ ...desk, provider: 'alchemy' }, '.verify must not be set with a provider'],
    [{ provider: 'alchemy', path: '/a' }, '.secrets must be a text, { env } or { file }'],
    [{ ...alchemy, secrets: {} }, secretsRule],
    [{ ...alchemy, secrets: 7 }, secretsRule],
    [{ ...alchemy, secrets: { env: 'A', file: 'b' } }, secretsRule],
    [{ ...alchemy, secrets: { New: secret } }, secretsRule],
    [{ ...alchemy, secrets: { flie: 'secrets.txt' } }, `${secretsRule}: flie is a label (did you mean file?)`],
    [{ ...alchemy, secrets: { evn: 'ALCHEMYSECRET' } }, `${secretsRule}: evn is a label (did you mean env?)`],
    [{ ...alchemy, secrets: { path: '/run/secrets/alchemy' } }, `.secrets.path${noReference}`],
    [{ ...alchemy, secrets: 'ALCHEMY_SECRET' }, `.secrets${noReference}`],
    [{ ...alchemy, secrets: '' }, '.secrets must not be empty'],
    [{ ...alchemy, secrets: { env: '' } }, '.secrets.env must not be empty'],
    [{ provider: 'fireblocks', path: '/a', keys: { url: 'nonsense' } }, '.keys.url must be an https URL'],
    [{ ...alchemy, keys: {} }, '.keys must not be set: this source has no fetched keys'],
    [{ provider: 'circle', path: '/a' }, '.keys.apiKey must be a text, { env } or { file }'],
    [{ ...fireblocks, secrets: secret }, '.secrets must not be set: the public keys are fetched'],
    [{ ...fireblocks, keys: { url: 'http://a/' } }, '.keys.url must be an https URL'],
    [{ ...fireblocks, keys: { url: 'https://me@a/' } }, '.keys.url must have no user name: set keys.apiKey'],
    [{ ...fireblocks, keys: { urls: 'https://a/' } }, '.keys.urls is not an option (did you mean url?)'],
    [{ provider: 'circle', path: '/a', keys: { apiKey: 'k', url: 'https://a/' } }, '.keys.url must contain {keyId}'],
    [{ ...alchemy, id: 'id' }, '.id must be body.<path> or header.<name>, for example body.id'],
    [{ ...alchemy, key: ['network'] }, '.key.0 must be body.<path> or header.<name>, for example body.id'],
    [
      { ...alchemy, id: 'header.x-id' },
      '.id must be in the body, or in a signed header that text in verify.signed separates from other values',
    ],
    [verifying({ scheme: 'hmac' }), '.verify.scheme must be hmac-sha256, secret, keccak256 or ed25519'],
    [verifying({ encodng: 'hex' }), '.verify.encodng is not an option (did you mean encoding?)'],
    [verifying({ signed: '{timestamp}' }), '.verify.signed must contain {body} or {bodyDigest}'],
    [verifying({ signed: '{body}' }), '.verify.signed must contain {timestamp}: otherwise anyone could change it'],
    [verifying({ timestamp: undefined }), '.verify.timestamp must be set, because verify.signed contains {timestamp}'],
    [
      verifying({ signed: '{item.t}{timestamp}{body}' }),
      '.verify.signed must not contain {item.<name>} or {signedHeaders}: the header is one signature',
    ],
    [
      verifying({ signed: '{timestamp}.{header.x-signature}.{body}' }),
      '.verify.signed must not contain {header.x-signature}: it holds the signature',
    ],
    [
      verifying({ timestamp: { header: 'x-signature', unit: 's' } }),
      '.verify.timestamp.header must be another header than .verify.header',
    ],
    [
      { ...desk, verify: { scheme: 'secret', header: 'a', encoding: 'hex' } },
      '.verify.encoding must not be set with the scheme secret',
    ],
  ])('%j: sources.tested%s', (entry, problem) => {
    expect(problemsOf(entry)).toEqual([`sources.tested${problem}`])
  })

  test.each([null, [], 'alchemy'])('%j is no object of sources', (value) => {
    expect(resolveSources(value, []).problems).toEqual([
      expect.stringMatching(/^sources must be an object of sources by name/),
    ])
  })

  test('problems show no secret', () => {
    const problems = problemsOf({
      ...alchemy,
      secrets: { 'my secret text': secret },
      keys: { apiKey: 'sk_live_1' },
      id: secret,
    })
    expect(problems).not.toEqual([])
    expect(problems.join()).not.toMatch(/my secret text|sk_live_1|0123456789abcdef/)
  })
})

describe('readSecrets', () => {
  const read = (secrets: unknown, provider = 'alchemy', reader = {}) => {
    const { sources, problems } = resolveSources({ tested: { provider, path: '/a', secrets } }, [])
    expect(problems).toEqual([])
    return readSecrets(sources[0]!, { env: { GIVEN: ` ${secret} ` }, ...reader })
  }
  const textOf = ({ key }: Awaited<ReturnType<typeof read>>[number]) => key.export().toString()

  test('a text is one secret, with its commas and colons', async () => {
    const [only, ...others] = await read('label:secret,another:secret')
    expect(others).toEqual([])
    expect({ label: only!.label, text: textOf(only!) }).toEqual({
      label: 'secret-1',
      text: 'label:secret,another:secret',
    })
  })

  test('labels, environment variables and files', async () => {
    const readFile = (file: string) => Promise.resolve(`secret of ${file}\n`)
    const secrets = await read({ new: { env: 'GIVEN' }, old: { file: 'old.txt' } }, 'alchemy', { readFile })
    expect(secrets.map((each) => [each.label, textOf(each)])).toEqual([
      ['new', secret],
      ['old', 'secret of old.txt'],
    ])
  })

  test('Stripe uses the text of whsec_ as it stands, Standard Webhooks decodes it', async () => {
    const text = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
    expect(textOf((await read(text, 'stripe'))[0]!)).toBe(text)
    const [decoded] = await read(text, 'standard-webhooks')
    expect(decoded!.key.export()).toEqual(Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64'))
  })

  test.each([
    ['seven77', 'alchemy', ' must be 8 to 4096 bytes (got 7)'],
    ['x'.repeat(4_097), 'alchemy', ' must be 8 to 4096 bytes (got 4097)'],
    ['two\nlines of text', 'alchemy', ' must be one line of UTF-8 text'],
    ['demo-secret-do-not-use-0001', 'alchemy', ' must be another text: this one is published with the demo'],
    [{ env: 'MISSING' }, 'alchemy', ' must have a value: MISSING is not set'],
    [{ new: { env: 'MISSING' }, old: secret }, 'alchemy', '.new must have a value: MISSING is not set'],
    ['whsec_not base64!', 'standard-webhooks', ' must be whsec_ and at least 8 bytes in base64'],
    ['whsec_YWJj', 'standard-webhooks', ' must be whsec_ and at least 8 bytes in base64'],
    [{ file: 'no-such-file' }, 'alchemy', ' must be readable: no-such-file cannot be read (ENOENT)'],
    [`whpk_${secret}`, 'standard-webhooks', ' must be an Ed25519 public key: whpk_ and 32 bytes in base64'],
  ])('%j for %s is rejected', async (secrets, provider, problem) => {
    await expect(read(secrets, provider)).rejects.toThrow(`sources.tested.secrets${problem}`)
  })
})
