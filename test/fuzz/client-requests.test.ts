import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseApiUrl } from '../../src/base/api-url.ts'
import { createClient } from '../../src/client/index.ts'
import { parseQuery } from '../../src/emulator/rest/input.ts'
import { counts } from '../counts.ts'

const runs = counts.clientRequestRuns

const segment = fc.stringMatching(/^[a-zA-Z0-9_~-][a-zA-Z0-9._~-]{0,8}$/).filter((text) => !/^v\d+$/i.test(text))
const origin = fc
  .tuple(
    fc.constantFrom('https://api.example.com', 'https://[2001:db8::1]:8443', 'http://127.0.0.1:9', 'http://localhost'),
  )
  .map(([text]) => text)
const base = fc.tuple(origin, fc.array(segment, { maxLength: 3 }), fc.constantFrom('', '/v1'), fc.nat(3))

/** Address of the request that `ask` sends. */
async function addressOf(
  baseUrl: string,
  ask: (api: ReturnType<typeof createClient>) => Promise<unknown>,
): Promise<URL> {
  const asked: string[] = []
  const api = createClient({
    baseUrl,
    apiKey: 'k',
    fetch: async (url) => {
      asked.push(url as string)
      return Response.json({ success: true, data: {} })
    },
  })
  await ask(api)
  expect(asked).toHaveLength(1)
  return new URL(asked[0] ?? '')
}

test('R6 every request address has the prefix exactly once, with any trailing slashes in the base URL', async () => {
  await fc.assert(
    fc.asyncProperty(base, fc.boolean(), async ([start, path, prefix, slashes], isPrefixed) => {
      const below = [start, ...path].join('/')
      const baseUrl = below + prefix + '/'.repeat(slashes)
      const address = await addressOf(baseUrl, (api) => api.get(isPrefixed ? '/v1/wallets/x' : '/wallets/x'))
      expect(address.href).toBe(new URL(`${below}/v1/wallets/x`).href)
    }),
    {
      numRuns: runs,
      examples: [
        [['https://api.example.com', [], '/v1', 0], false],
        [['https://api.example.com', [], '/v1', 1], true],
        [['https://api.example.com', [], '', 1], false],
        [['https://api.example.com', ['x'], '', 0], true],
      ],
    },
  )
})

test('R5, R6 invalid base URLs are rejected, and never shown', () => {
  for (const text of [
    '',
    'api.example.com/v1',
    'ftp://api.example.com',
    'http://api.example.com/v1',
    'https://sekret:pw@api.example.com',
    'https://api.example.com/v1?key=sekret',
    'https://api.example.com/v1#sekret',
    'https://api.example.com/sekret/v2',
    'https://api.example.com/V1/sekret',
    'https://api.example.com/v1/sekret',
    'https://api.example.com/sekret/v1/v1',
  ]) {
    expect(() => parseApiUrl(text), text).toThrow(/^invalid base URL of the service: (?!.*sekret)/)
  }
})

const text = fc.string({ unit: 'grapheme', maxLength: 20 })
const value = fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(undefined))

test('R49 the service receives the query unchanged', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.dictionary(
        text.filter((name) => name !== '__proto__'),
        value,
      ),
      async (query) => {
        const address = await addressOf('https://api.example.com', (api) => api.get('/x', query))
        const pairs = Object.entries(query).filter(([, member]) => member !== undefined)
        const expected = Object.fromEntries(pairs.map(([name, member]) => [name, String(member)]))
        expect(parseQuery(address.pathname + address.search)).toEqual(expected)
      },
    ),
    { numRuns: runs, examples: [[{ q: 'a&b=c d+e%20#?/ü', limit: 3, x: undefined }], [{}]] },
  )
})

test('an argument stays one segment of the path', async () => {
  const argument = text.filter((candidate) => !['', '.', '..'].includes(candidate))
  await fc.assert(
    fc.asyncProperty(argument, async (alert_id) => {
      const address = await addressOf('https://api.example.com', (api) => api.getAlert({ alert_id }))
      const [empty, version, group, id, ...more] = address.pathname.split('/')
      expect([empty, version, group, decodeURIComponent(id ?? ''), more]).toEqual(['', 'v1', 'alerts', alert_id, []])
      expect([address.search, address.hash]).toEqual(['', ''])
    }),
    { numRuns: runs, examples: [['../../admin'], ['%2e%2e'], ['a?b#c'], ['\\']] },
  )
})
