import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { filterOf, formatFilter, parseFilter, toQuery } from '../../src/web/console/events/filter.ts'
import { driftKinds, quarantineReasons, rejectReasons } from '../../src/web/console/deliveries/reasons.ts'
import { diffLines } from '../../src/web/console/deliveries/diff.ts'
import { largestSeries } from '../../src/web/ui/chart.tsx'
import { exactDigits, parseExact } from '../../src/web/ui/exact-json.ts'
import { explorerLink } from '../../src/web/ui/explorers.ts'
import { formatAge, formatMs, formatShare } from '../../src/web/ui/format.ts'
import { toHexLines } from '../../src/web/ui/hex-view.tsx'
import { shortText } from '../../src/web/ui/text.tsx'

const evmAddress = `0x${'aB'.repeat(20)}`
const evmTx = `0x${'aB'.repeat(32)}`

describe('explorerLink', () => {
  test.each([
    ['address', 'ethereum', evmAddress, `https://etherscan.io/address/${evmAddress}`],
    ['transaction', 'bnb', evmTx, `https://bscscan.com/tx/${evmTx}`],
    ['transaction', 'polygon', evmTx, `https://polygonscan.com/tx/${evmTx}`],
    ['address', 'base', evmAddress, `https://basescan.org/address/${evmAddress}`],
    ['address', 'avalanche', evmAddress, `https://snowtrace.io/address/${evmAddress}`],
    ['address', 'arbitrum', evmAddress, `https://arbiscan.io/address/${evmAddress}`],
    ['address', 'solana', 'So1'.padEnd(43, 'x'), `https://solscan.io/account/${'So1'.padEnd(43, 'x')}`],
    ['transaction', 'solana', '5'.repeat(88), `https://solscan.io/tx/${'5'.repeat(88)}`],
  ] as const)('%s on %s', (kind, network, value, href) => {
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
})

describe('exact JSON', () => {
  test.each(['18446744073709551615', '18451.200000000000728', '0.1234567890123456789', '1234567890123456789e3'])(
    'keeps every digit of %s',
    (digits) => {
      const value = parseExact(`{"n":${digits}}`) as { readonly n: unknown }
      expect(exactDigits(value.n)).toBe(digits)
      expect(JSON.stringify(value)).toBe(`{"n":${digits}}`)
    },
  )

  test('leaves other values as JSON.parse has them', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(JSON.parse(JSON.stringify(parseExact(text)))).toEqual(JSON.parse(text))
      }),
    )
  })
})

describe('figures', () => {
  test.each([
    [0.4, '0.4 ms'],
    [2.94, '2.9 ms'],
    [22.4, '22 ms'],
    [1_250, '1.25 s'],
    [90_000, '1 min 30 s'],
    [null, '–'],
  ])('R115 a latency of %s ms is %s', (ms, text) => {
    expect(formatMs(ms)).toBe(text)
  })

  test.each([
    [1, '100 %'],
    [0.99999, '99.999 %'],
    [0.9999999, '99.999 %'],
    [0.875, '87.5 %'],
    [0.00001, '< 0.1 %'],
    [0, '0 %'],
    [null, '–'],
  ])('only all is 100 %% and only nothing is 0 %%: %s is %s', (share, text) => {
    expect(formatShare(share)).toBe(text)
  })

  test.each([
    [0, '0 s'],
    [59_999, '59 s'],
    [3_600_000, '1 h'],
  ])('an age of %s ms has one unit: %s', (ms, text) => {
    expect(formatAge(ms)).toBe(text)
  })
})

describe('the filter of events', () => {
  test('reads names with values, durations and words', () => {
    expect(parseFilter('  type:wallet.large_trade 1h network:base  two words handler:a:b ')).toEqual({
      type: 'wallet.large_trade',
      from: '1h',
      network: 'base',
      handler: 'a:b',
      q: 'two words',
    })
    expect(parseFilter('unknown:x type:')).toEqual({ q: 'unknown:x type:' })
  })

  test('is read back from its text', () => {
    const filter = filterOf({ status: 'dead', from: '2d', q: 'a b', open: 'evt_1' })
    expect(parseFilter(formatFilter(filter))).toEqual({ status: 'dead', from: '2d', q: 'a b' })
    const group = String.raw`Error: no "a\b" at run (h/a.ts:1:2)`
    expect(parseFilter(formatFilter({ group, handler: 'ledger' }))).toEqual({ group, handler: 'ledger' })
  })

  test('turns a duration into a time, and leaves times as they are', () => {
    const now = Date.UTC(2026, 0, 31, 14)
    expect(toQuery({ from: '1h', to: '2026-01-31T14:00:00Z', type: 'x' }, now)).toEqual({
      from: '2026-01-31T13:00:00.000Z',
      to: '2026-01-31T14:00:00Z',
      type: 'x',
    })
    expect(toQuery({ from: '2d' }, now)).toEqual({ from: '2026-01-29T14:00:00.000Z' })
    expect(toQuery({ from: '2026-01-31T12:00' }, now)).toEqual({ from: '2026-01-31T12:00Z' })
  })
})

describe('a line diff', () => {
  test('has both texts in their order, equal lines once', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'b', 'c')), fc.array(fc.constantFrom('a', 'b', 'c')), (a, b) => {
        const lines = diffLines(a.join('\n'), b.join('\n'))
        const textOf = (side: string) => lines.filter((line) => line.side !== side).map(({ text }) => text)
        expect(textOf('other').join('\n')).toBe(a.join('\n'))
        expect(textOf('kept').join('\n')).toBe(b.join('\n'))
      }),
    )
  })

  test('stays small in time for very different texts', () => {
    const many = (word: string) => Array.from({ length: 3_000 }, (_, index) => `${word} ${index}`).join('\n')
    expect(diffLines(many('a'), many('b'))).toHaveLength(6_000)
  })
})

test('a chart has the largest series, and the sum of the others', () => {
  const series = ['a', 'b', 'c', 'd'].map((name, index) => ({ name, values: [index, 1] }))
  expect(largestSeries(series, 3)).toEqual([series[0], series[1], { name: 'other', values: [5, 2] }])
  expect(largestSeries(series, 4)).toEqual(series)
})

test('a hex dump has offset, bytes and ASCII', () => {
  expect(toHexLines(Uint8Array.from([0x7b, 0x22, 0xff, ...Array.from({ length: 14 }, () => 0x41)]))).toBe(
    `00000000  7b 22 ff ${'41 '.repeat(13).trim()}  {".AAAAAAAAAAAAA\n00000010  41${' '.repeat(45)}  A`,
  )
})

test('a text is cut between characters, and its invisible characters are codes', () => {
  expect(shortText('abcdef', 3)).toBe('abc…')
  expect(shortText('ab😀', 3)).toBe('ab…')
  expect(shortText('a\u202eb\u0007')).toBe('a\\u{202e}b\\u{7}')
})

test.each(Object.entries({ ...quarantineReasons, ...rejectReasons, ...driftKinds }))(
  'the text of %s says what to do',
  (_code, text) => {
    expect(text.length).toBeGreaterThan(20)
  },
)
