import { expect, test } from 'vitest'
import { excerptOf, excerptOfText, splitTarget } from '../../src/emulator/rest/journal.ts'

const key = 'our+"value\\of-the-desk'
const address = '0x6982508145454Ce325dDbE47a25d4ec3d2311933'

test.each([
  ['api_key=sk_1', 'api_key=[hidden]'],
  ['api%5Fk%65y=sk_1', 'api%5Fk%65y=[hidden]'],
  ['Authorization=b&limit=1', 'Authorization=[hidden]&limit=1'],
  ['access_token=a&PASSWORD=b&clientSecret=c', 'access_token=[hidden]&PASSWORD=[hidden]&clientSecret=[hidden]'],
  [`token=${address}`, `token=${address}`],
  ['token=whatever-it-is', 'token=[hidden]'],
  ['a=sk_0123456789abcdef&%zz', 'a=[hidden]&%zz'],
])('R68 records the query %s as %s', (query, kept) => {
  expect(splitTarget(`/v1/x?${query}`, null)).toEqual({ path: '/v1/x', query: kept })
})

test('R68 hides the presented key in a target, percent-encoded or not', () => {
  const encoded = encodeURIComponent(key)
  const fullyEncoded = Array.from(key, (letter) => `%${letter.charCodeAt(0).toString(16)}`).join('')
  for (const form of [key, encoded, fullyEncoded]) {
    expect(splitTarget(`/v1/tokens/${form}/x?q=a${form}b&${form}=1&${form}`, key)).toEqual({
      path: '/v1/tokens/[hidden]/x',
      query: 'q=[hidden]&[hidden]=1&[hidden]',
    })
  }
  expect(splitTarget('/v1/x', key)).toEqual({ path: '/v1/x', query: '' })
})

test('R68 hides secrets of any kind in bodies, and the presented key anywhere', () => {
  expect(excerptOf({ secret: ['a'], inner: { webhook_secret: 1, apiKey: 'b', Password: 'c' } }, null)).toBe(
    '{"secret":"[hidden]","inner":{"webhook_secret":"[hidden]","apiKey":"[hidden]","Password":"[hidden]"}}',
  )
  expect(excerptOf({ label: `<${key}>`, [key]: 1, url: 'https://a/?x=whsec_0123456789abcdef' }, key)).toBe(
    '{"label":"<[hidden]>","[hidden]":1,"url":"https://a/?x=[hidden]"}',
  )
  expect(excerptOfText('{"data":{"secret":"a\\"b"}}', null)).toBe('{"data":{"secret":"[hidden]"}}')
  expect(excerptOfText(JSON.stringify({ message: `got ${JSON.stringify(key)}` }), key)).not.toContain('of-the-desk')
})

test('shows documented members named token', () => {
  const trade = { token_in: { address, symbol: 'A' }, token: address, token_symbol: 'B', total_tokens_held: 3 }
  expect(excerptOf(trade, 'a')).toBe(JSON.stringify(trade))
})

test('cuts long bodies and survives deep nesting', () => {
  expect(excerptOf('x'.repeat(100_000), null)).toHaveLength(4_096)
  expect(excerptOf(`${'x'.repeat(4_090)}${key}`, key)).not.toContain('our')
  const deep: unknown = JSON.parse(`${'['.repeat(30_000)}${']'.repeat(30_000)}`)
  expect(excerptOf(deep, null)).toBeTypeOf('string')
})
