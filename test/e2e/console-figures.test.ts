import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatBytes } from '../../src/web/ui/format.ts'
import { formatMs, formatRate, formatShare } from '../../src/web/console/parts/overview-format.ts'
import { shortText } from '../../src/web/ui/long-text.tsx'
import { namedSeries, plotSeries, summarize, withOthers } from '../../src/web/ui/series-data.ts'

// What the pages of the console count with, without a page around it.

test('R115 a time is told so that it can be held against 5 s', () => {
  expect(formatMs(0)).toBe('0 ms')
  expect(formatMs(1.26)).toBe('1.3 ms')
  expect(formatMs(48.4)).toBe('48 ms')
  expect(formatMs(4_996)).toBe('5 s')
  expect(formatMs(4_210)).toBe('4.21 s')
  expect(formatMs(90_000)).toBe('1 min 30 s')
  expect(formatMs(null)).toBe('–')
})

test('what is not all, and what is not nothing, is never shown as that', () => {
  expect(formatShare(1)).toBe('100 %')
  expect(formatShare(0)).toBe('0 %')
  expect(formatShare(0.5)).toBe('50 %')
  expect(formatShare(0.9998)).toBe('99.98 %')
  expect(formatShare(0.999_999)).toBe('> 99.99 %')
  expect(formatShare(0.000_001)).toBe('< 0.01 %')
  expect(formatShare(null)).toBe('–')
  const seed = Math.trunc(Math.random() * 2 ** 31)
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, minExcluded: true, maxExcluded: true, noNaN: true }), (share) => {
      expect(['100 %', '0 %']).not.toContain(formatShare(share))
    }),
    { seed },
  )
})

test('sizes and rates are short', () => {
  expect(formatBytes(0)).toBe('0 B')
  expect(formatBytes(1_023)).toBe('1,023 B')
  expect(formatBytes(1_572_864)).toBe('1.5 MiB')
  expect(formatBytes(2 ** 52)).toBe('4,100 TiB')
  expect(formatBytes(null)).toBe('–')
  expect(formatRate(0)).toBe('0/s')
  expect(formatRate(0.012_34)).toBe('0.0123/s')
  expect(formatRate(1_234.5)).toBe('1,230/s')
})

test('a text is cut between characters, and what is not seen in it is shown as its code', () => {
  expect(shortText('abc', 3)).toBe('abc')
  expect(shortText('abcd', 3)).toBe('abc…')
  expect(shortText('a\u202eb')).toBe('a\\u{202e}b')
  expect(shortText(`ab${'\u{1f600}'}`, 3)).toBe('ab…')
})

const series = [
  { name: 'a', values: [1, 2, 3] },
  { name: 'b', values: [4, null, 6] },
]

test('what is stacked is drawn from the highest sum down; lines stay as they are', () => {
  expect(plotSeries(series, 'stacked')).toEqual([
    [5, 2, 9],
    [1, 2, 3],
  ])
  expect(plotSeries(series, 'lines')).toEqual([
    [1, 2, 3],
    [4, null, 6],
  ])
})

test('beside each name stands its value in a bucket, else its sum or its last value', () => {
  expect(namedSeries(series, 'stacked', 1).map(({ value }) => value)).toEqual([2, null])
  expect(namedSeries(series, 'stacked', null).map(({ value }) => value)).toEqual([6, 10])
  expect(namedSeries([{ name: 'c', values: [1, 2, null] }], 'lines', null)).toEqual([{ name: 'c', value: 2 }])
  expect(namedSeries([{ name: 'c', values: [null] }], 'lines', null)).toEqual([{ name: 'c', value: null }])
})

test('series without a colour of their own are added up with what is in none, so that nothing is missing', () => {
  expect(withOthers(series, [5, 2, 9], 2, 'others')).toEqual(series)
  expect(withOthers(series, [5, 2, 9], 1, 'others')).toEqual([series[0], { name: 'others', values: [4, 0, 6] }])
  expect(withOthers(series, [7, 2, 9], 2, 'others').at(-1)).toEqual({ name: 'others', values: [2, 0, 0] })
  const seed = Math.trunc(Math.random() * 2 ** 31)
  const counts = fc.array(fc.nat(1_000), { minLength: 4, maxLength: 4 })
  fc.assert(
    fc.property(fc.array(counts, { maxLength: 9 }), fc.integer({ min: 0, max: 9 }), (all, most) => {
      const given = all.map((values, index) => ({ name: String(index), values }))
      const totals = [0, 1, 2, 3].map((at) => all.reduce((sum, values) => sum + (values[at] ?? 0), 0))
      const shown = withOthers(given, totals, most, 'others')
      expect(shown.length).toBeLessThanOrEqual(most + 1)
      const sums = [0, 1, 2, 3].map((at) => shown.reduce((sum, { values }) => sum + (values[at] ?? 0), 0))
      expect(sums).toEqual(totals)
    }),
    { seed },
  )
})

test('a chart is told in words: each series with its sum and where it was highest', () => {
  const times = ['2026-01-31T13:00:00.000Z', '2026-01-31T13:01:00.000Z', '2026-01-31T13:02:00.000Z']
  const format = (value: number) => `${value}`
  expect(summarize({ times, series, kind: 'stacked', format })).toBe(
    'from 2026-01-31 13:00:00 to 2026-01-31 13:02:00 UTC: a 6 in all, most 3 at 2026-01-31 13:02:00; b 10 in all, most 6 at 2026-01-31 13:02:00',
  )
  const none = { times, series: [{ name: 'p50', values: [null, null, null] }], kind: 'lines', format } as const
  expect(summarize({ ...none, limit: { name: 'the limit', value: 5 } })).toMatch(/UTC: p50 nothing; the limit is 5$/)
})
