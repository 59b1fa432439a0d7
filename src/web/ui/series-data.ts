import { formatTime } from './format.ts'
import { toVisible } from './plain-text.tsx'

/** A value for each bucket of a chart; null where there is none. */
export interface ChartSeries {
  /** May be text from outside. */
  readonly name: string
  readonly values: readonly (number | null)[]
}

/** The columns to draw: of what is stacked the sums, the highest first. */
export function plotSeries(series: readonly ChartSeries[], kind: 'stacked' | 'lines'): (number | null)[][] {
  if (kind === 'lines') return series.map(({ values }) => [...values])
  const sums: number[][] = []
  for (const { values } of series) {
    const below = sums.at(-1)
    sums.push(values.map((value, at) => (value ?? 0) + (below?.[at] ?? 0)))
  }
  return sums.toReversed()
}

/** Each name with its value in a bucket; with null what it comes to, or its last value. */
export function namedSeries(
  series: readonly ChartSeries[],
  kind: 'stacked' | 'lines',
  index: number | null,
): readonly { readonly name: string; readonly value: number | null }[] {
  return series.map(({ name, values }) => {
    if (index !== null) return { name, value: values[index] ?? null }
    return { name, value: kind === 'stacked' ? sumOf(values) : (values.findLast((value) => value !== null) ?? null) }
  })
}

/**
 * The largest series by themselves, in the order given, and what is left of the totals as one more; without it where nothing is left.
 */
export function withOthers(
  series: readonly ChartSeries[],
  totals: readonly number[],
  most: number,
  name: string,
): readonly ChartSeries[] {
  const shown = series.slice(0, most)
  const rest = totals.map((total, at) =>
    Math.max(0, total - shown.reduce((sum, { values }) => sum + (values[at] ?? 0), 0)),
  )
  return rest.some((value) => value > 0) ? [...shown, { name, values: rest }] : shown
}

export interface Summarized {
  readonly times: readonly string[]
  readonly series: readonly ChartSeries[]
  readonly kind: 'stacked' | 'lines'
  readonly format: (value: number) => string
  readonly limit?: { readonly name: string; readonly value: number } | undefined
}

/** What a chart shows, in words, for who does not see it. */
export function summarize({ times, series, kind, format, limit }: Summarized): string {
  const [first = '', last = ''] = [times.at(0), times.at(-1)]
  const parts = series.map(({ name, values }) => {
    const highest = Math.max(...values.map((value) => value ?? 0))
    const at = times[values.indexOf(highest)]
    const top = at === undefined ? '' : `, most ${format(highest)} at ${formatTime(at)}`
    const [{ value } = { value: null }] = namedSeries([{ name, values }], kind, null)
    const said =
      value === null ? 'nothing' : kind === 'stacked' ? `${format(value)} in all` : `${format(value)} at last`
    return `${toVisible(name)} ${said}${top}`
  })
  const bound = limit === undefined ? '' : `; ${limit.name} is ${format(limit.value)}`
  return `from ${formatTime(first)} to ${formatTime(last)} UTC: ${parts.join('; ')}${bound}`
}

function sumOf(values: readonly (number | null)[]): number {
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0)
}
