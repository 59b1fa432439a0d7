import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toHex } from '../../src/web/console/events/body.tsx'
import { largestSeries } from '../../src/web/ui/chart.tsx'
import { parseExactJson, toPlainNumbers } from '../../src/base/exact-json.ts'
import { explorerLink } from '../../src/web/ui/explorers.ts'
import {
  formatAge,
  formatBytes,
  formatCount,
  formatDuration,
  formatMs,
  formatNumber,
  formatShare,
  formatTime,
  shortAddress,
} from '../../src/web/ui/format.ts'
import { indentJson } from '../../src/web/ui/json-view.tsx'
import { shortText } from '../../src/web/ui/text.tsx'

const minuteMs = 60_000
const hourMs = 60 * minuteMs

const formats = {
  formatAge,
  formatBytes,
  formatCount,
  formatDuration,
  formatMs,
  formatNumber,
  formatShare,
}

describe('figures', () => {
  test.each([
    // Few digits, compact from a million on
    ['formatNumber', 0, '0'],
    ['formatNumber', 1234.567, '1,234.57'],
    ['formatNumber', 0.000012345678, '0.00001235'],
    // All digits
    ['formatCount', Number.MAX_SAFE_INTEGER, '9,007,199,254,740,991'],
    ['formatBytes', 0, '0 B'],
    ['formatBytes', 1_572_864, '1.5 MiB'],
    ['formatBytes', 2 ** 60, '1.05M TiB'],
    // One or two units
    ['formatDuration', 999.4, '999 ms'],
    ['formatDuration', 90_000, '1 min 30 s'],
    ['formatDuration', 10 * hourMs + 36 * minuteMs + 5_000, '10 h 36 min'],
    ['formatAge', 0, '0 s'],
    ['formatAge', 61 * minuteMs, '1 h'],
    // R115 A latency has a precision that suits its size
    ['formatMs', 0.4, '0.4 ms'],
    ['formatMs', 2.94, '2.9 ms'],
    ['formatMs', 22.4, '22 ms'],
    ['formatMs', 1_250, '1.25 s'],
    ['formatMs', null, '–'],
    // Only all is 100 %, and only nothing is 0 %
    ['formatShare', 1, '100 %'],
    ['formatShare', 0.9999999, '99.999 %'],
    ['formatShare', 0.875, '87.5 %'],
    ['formatShare', 0.00001, '< 0.1 %'],
    ['formatShare', 0, '0 %'],
    ['formatShare', null, '–'],
  ] as const)('R115 %s of %s is %s', (name, value, text) => {
    expect((formats[name] as (value: unknown) => string)(value)).toBe(text)
  })

  test.each(['formatNumber', 'formatCount', 'formatBytes'] as const)(
    '%s shows a dash for a value that isn’t a number',
    (name) => {
      for (const value of [undefined, null, '1', {}, Number.NaN, Infinity]) expect(formats[name](value)).toBe('–')
    },
  )

  test('a time of any offset is shown in UTC; an invalid one is a dash', () => {
    expect(formatTime('2026-01-31T15:03:22.999+01:00')).toBe('2026-01-31 14:03:22')
    expect(formatTime(0)).toBe('1970-01-01 00:00:00')
    expect(formatTime('yesterday')).toBe('–')
  })

  test('both ends of an address are shown; a short one is whole', () => {
    expect(shortAddress('0x1bCC0123456789abcdef0123456789abcdefc800')).toBe('0x1bCC…c800')
    expect(shortAddress('evt_123456789')).toBe('evt_123456789')
  })
})

const evmAddress = `0x${'aB'.repeat(20)}`
const evmTx = `0x${'aB'.repeat(32)}`

test.each([
  ['address', 'ethereum', evmAddress, `https://etherscan.io/address/${evmAddress}`],
  ['transaction', 'bnb', evmTx, `https://bscscan.com/tx/${evmTx}`],
  ['transaction', 'polygon', evmTx, `https://polygonscan.com/tx/${evmTx}`],
  ['address', 'base', evmAddress, `https://basescan.org/address/${evmAddress}`],
  ['address', 'avalanche', evmAddress, `https://snowtrace.io/address/${evmAddress}`],
  ['address', 'arbitrum', evmAddress, `https://arbiscan.io/address/${evmAddress}`],
  ['address', 'solana', 'So1'.padEnd(43, 'x'), `https://solscan.io/account/${'So1'.padEnd(43, 'x')}`],
  ['transaction', 'solana', '5'.repeat(88), `https://solscan.io/tx/${'5'.repeat(88)}`],
] as const)('links %s on %s', (kind, network, value, href) => {
  expect(explorerLink(kind, network, value)?.href).toBe(href)
})

test.each([
  ['address', 'ethereum', '0x12'],
  ['address', 'ethereum', 'javascript:alert(1)'],
  ['transaction', 'base', evmAddress],
  ['address', 'mars', evmAddress],
  ['address', 'solana', `${evmAddress}/../..`],
  ['address', 'ethereum', null],
] as const)('no link for %s on %s: %s', (kind, network, value) => {
  expect(explorerLink(kind, network, value)).toBeNull()
})

test('exact JSON keeps every digit of numbers, and other values as JSON.parse has them', () => {
  const text = '[18446744073709551615,18451.200000000000728,0.1000,1234567890123456789e3]'
  expect(JSON.stringify(parseExactJson(text))).toBe(text)
  const property = fc.property(fc.json(), (json) => {
    expect(toPlainNumbers(parseExactJson(json))).toEqual(JSON.parse(json))
  })
  fc.assert(property)
})

test('indented JSON keeps its value and the digits of its numbers', () => {
  expect(indentJson('{"a":1.10,"b":[],"c":[{},-1e-7]}')).toBe(
    '{\n  "a": 1.10,\n  "b": [],\n  "c": [\n    {},\n    -1e-7\n  ]\n}',
  )
  const seed = Math.trunc(Math.random() * 2 ** 31)
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(undefined, 1, '\t'), (text, space) => {
      const written = JSON.stringify(JSON.parse(text), null, space)
      expect(JSON.parse(indentJson(written))).toEqual(JSON.parse(written))
    }),
    { seed },
  )
})

test('indented JSON shows invisible characters and direction marks as escapes, with the same value', () => {
  const text = JSON.stringify({ name: 'a\u202eb\u200b\u{e0041}\u2028' })
  expect(indentJson(text)).not.toMatch(/[\p{Cf}\u2028]/u)
  expect(JSON.parse(indentJson(text))).toEqual(JSON.parse(text))
})

test('invalid JSON is indented without losing a character', () => {
  for (const text of ['', '{', ']]', '"', 'a"b', '{"a":"\\']) {
    expect(indentJson(text).replaceAll(/\s/g, '')).toBe(text)
  }
})

test('a chart has the largest series, and the sum of the others', () => {
  const series = ['a', 'b', 'c', 'd'].map((name, index) => ({ name, values: [index, 1] }))
  expect(largestSeries(series, 3)).toEqual([series[0], series[1], { name: 'other', values: [5, 2] }])
  expect(largestSeries(series, 4)).toEqual(series)
})

test('a hex dump has offset, bytes and ASCII', () => {
  expect(toHex(Uint8Array.from([0x7b, 0x22, 0xff, ...Array.from({ length: 14 }, () => 0x41)]))).toBe(
    `00000000  7b 22 ff ${'41 '.repeat(13).trim()}  {".AAAAAAAAAAAAA\n00000010  41${' '.repeat(45)}  A`,
  )
})

test('a text is cut between characters, and its invisible characters are codes', () => {
  expect(shortText('abcdef', 3)).toBe('abc…')
  expect(shortText('ab😀', 3)).toBe('ab…')
  expect(shortText('a\u202eb\u0007')).toBe('a\\u{202e}b\\u{7}')
})
