import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { apiPathOf, filtersOf, noFilters, placeOf } from '../../src/web/console/parts/event-filters.ts'
import { begun, continued, isOf, refreshed, shown, told } from '../../src/web/console/parts/event-rows.ts'
import { toCsv } from '../../src/web/ui/csv.ts'
import { exactDigits, parseExact } from '../../src/web/ui/exact-json.ts'
import { explorerLink } from '../../src/web/ui/explorers.ts'
import { toHexLines } from '../../src/web/ui/hex-view.tsx'
import { summaryOf } from '../support/console-samples/a.ts'

const evmAddress = `0x${'aB'.repeat(20)}`
const evmTx = `0x${'aB'.repeat(32)}`

describe('toCsv', () => {
  test('writes a header row, ends rows with CRLF, and quotes cells with commas, quotes or line breaks', () => {
    expect(
      toCsv(
        ['a', 'b'],
        [
          [1, null],
          ['x,y', 'say "no"'],
          ['two\nlines', -1],
        ],
      ),
    ).toBe('a,b\r\n1,\r\n"x,y","say ""no"""\r\n"two\nlines",-1\r\n')
  })

  test.each(['=1+1', '+1', '-1', '@a', '\t=1', '\r=1', '\n=1', '＝1', '＋1', '－1', '＠a'])(
    'no cell starts like a formula: %j',
    (cell) => {
      expect(toCsv([], [[cell]]).replace(/^\r\n/, '')).toMatch(/^"?'/)
    },
  )

  test('no text starts a cell like a formula, and every text can be read back', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('=', '+', '-', '@', '\t', '\r', '"', ',', 'a', '＝') }), (text) => {
        const cell = toCsv([], [[text]]).slice(2, -2)
        const read = cell.startsWith('"') ? cell.slice(1, -1).replaceAll('""', '"') : cell
        expect(read).not.toMatch(/^[=+\-@\t\r\n＝＋－＠]/)
        expect([text, `'${text}`]).toContain(read)
      }),
    )
  })
})

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
    ['address', 'ethereum', evmTx],
    ['transaction', 'ethereum', evmAddress],
    ['address', 'ethereum', `${evmAddress}/../..`],
    ['address', 'solana', evmAddress],
    ['address', 'solana', '0'.repeat(40)],
    ['address', 'unknown', evmAddress],
    ['address', 'constructor', evmAddress],
    ['address', null, evmAddress],
    ['address', 'ethereum', 7],
  ] as const)('returns null for a value that is invalid on the network: %s on %s: %s', (kind, network, value) => {
    expect(explorerLink(kind, network, value)).toBeNull()
  })
})

test('toHexLines shows sixteen bytes per line, and a dot for each byte that is not printable ASCII', () => {
  const bytes = Uint8Array.from({ length: 18 }, (_, index) => (index === 1 ? 0x41 : index * 15))
  expect(toHexLines(bytes)).toBe(
    `00000000  00 41 1e 2d 3c 4b 5a 69 78 87 96 a5 b4 c3 d2 e1  .A.-<KZix.......
00000010  f0 ff                                            ..`,
  )
  expect(toHexLines(new Uint8Array())).toBe('')
})

describe('parseExact', () => {
  test.each([
    '18446744073709551615',
    '-12345678901234567890',
    '12345.670000000000000001',
    '1.00000000000000000001e400',
  ])('keeps the digits of %s', (digits) => {
    const parsed = parseExact(`{"a":[${digits}]}`) as { readonly a: readonly unknown[] }
    expect(exactDigits(parsed.a[0])).toBe(digits)
    expect(JSON.stringify(parsed)).toBe(`{"a":[${digits}]}`)
  })

  test.each(['0', '-1.5', '9007199254740991', '0.30000000000000004', '1.10', '1e3'])('leaves %s a number', (digits) => {
    expect(parseExact(digits)).toBe(Number(digits))
  })

  test('exactDigits returns null for an object with a member rawJSON', () => {
    expect(exactDigits(parseExact('{"rawJSON":"1"}'))).toBeNull()
  })
})

describe('filters of the event list', () => {
  test('are written to the URL of the page and read back', () => {
    const filters = { ...noFilters, type: 'a&b', q: '50% #1?', from: '2026-01-31T00:00:00.000Z' }
    const place = placeOf(filters)
    expect(filtersOf(new URLSearchParams(place.split('?')[1]))).toEqual(filters)
    expect(placeOf(noFilters)).toBe('/events')
  })

  test('a known time span overrides from and to, an unknown one is ignored', () => {
    const now = Date.UTC(2026, 0, 31, 12)
    const requestFor = (last: string) =>
      apiPathOf({ ...noFilters, last, from: '2020-01-01', to: '2021-01-01' }, now, { limit: 100 })
    expect(requestFor('hour')).toBe('/events?from=2026-01-31T11%3A00%3A00.000Z&limit=100')
    expect(requestFor('constructor')).toBe('/events?from=2020-01-01&to=2021-01-01&limit=100')
  })
})

describe('rows of the event list', () => {
  const rows = (...seqs: readonly number[]) => seqs.map((seq) => summaryOf(seq))
  const page = (seqs: readonly number[], next: string | null = null) => ({
    data: rows(...seqs),
    next_cursor: next,
    searched_to: '2026-01-01T00:00:00.000Z',
  })
  const seqs = (list: { readonly rows: readonly { readonly seq: number }[] }) => list.rows.map(({ seq }) => seq)

  test('are sorted newest first without duplicates, for pages and new events in any order', () => {
    const list = told(continued(begun(page([9, 8], 'c')), page([8, 7])), rows(11, 9, 10), false)
    expect(seqs(list)).toEqual([11, 10, 9, 8, 7])
    expect(list.cursor).toBeNull()
  })

  test('a paused list collects new events, and shows them on request', () => {
    const list = told(told(begun(page([9, 8])), rows(10), true), rows(11, 10), true)
    expect(seqs(list)).toEqual([9, 8])
    expect(list.fresh).toHaveLength(2)
    expect(seqs(shown(list))).toEqual([11, 10, 9, 8])
  })

  test('lookedBackTo is the searched time of a short page with a cursor, and null for a full or last page', () => {
    const full = Array.from({ length: 200 }, (_, index) => 300 - index)
    expect(begun(page([9], 'c')).lookedBackTo).toBe('2026-01-01T00:00:00.000Z')
    expect(begun(page(full, 'c')).lookedBackTo).toBeNull()
    expect(begun(page([9])).lookedBackTo).toBeNull()
  })

  test('a refreshed first page without known events replaces the list, or sets hasGap on a paused list', () => {
    const list = begun(page([9, 8]))
    expect(seqs(refreshed(list, page([30, 29], 'c'), noFilters, false))).toEqual([30, 29])
    const held = refreshed(list, page([30, 29], 'c'), noFilters, true)
    expect(seqs(held)).toEqual([9, 8])
    expect(held.hasGap).toBe(true)
    // A page without a cursor leaves no gap: it has all newer events, and with a filter their numbers need not be consecutive.
    expect(seqs(refreshed(list, page([30, 29]), noFilters, false))).toEqual([30, 29, 9, 8])
  })

  test('with a status filter, a refresh removes events in the range of the page that the page does not have', () => {
    const filters = { ...noFilters, status: 'dead' }
    const list = begun(page([9, 8, 7, 3]))
    expect(seqs(refreshed(list, page([9, 7], 'c'), filters, false))).toEqual([9, 7, 3])
    expect(seqs(refreshed(list, page([9]), filters, false))).toEqual([9])
    expect(seqs(refreshed(list, page([]), filters, false))).toEqual([])
    expect(seqs(refreshed(list, page([9, 7], 'c'), noFilters, false))).toEqual([9, 8, 7, 3])
  })

  test('isOf checks every filter of an event; with a search text or an end time it returns false', () => {
    const event = summaryOf(1)
    const address = event.address?.toLowerCase() ?? ''
    expect(isOf({ ...noFilters, type: event.type, network: 'ethereum', address, status: 'done' }, event)).toBe(true)
    for (const other of [
      { type: 'x' },
      { network: 'x' },
      { address: 'x' },
      { status: 'dead' },
      { q: 'x' },
      { to: 'x' },
    ])
      expect(isOf({ ...noFilters, ...other }, event)).toBe(false)
  })
})
