import { useComputedColorScheme } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import { formatCount, formatTime } from './format.ts'
import { shortText } from './text.tsx'

export interface Series {
  /** May be external text. */
  readonly name: string
  readonly values: readonly number[]
}

export interface ChartProps {
  readonly title: string
  /** Starts of the buckets, oldest first. */
  readonly times: readonly string[]
  /** One value per bucket. At most as many series as there are colours. */
  readonly series: readonly Series[]
}

const height = 168
/** Of the series. They stand out on both a light and a dark page. */
const colors = ['#4a72e8', '#2fa08f', '#e07b26', '#8b6cf6', '#7a8496', '#a9b0bc'] as const

/** Counts over time (UTC), stacked as areas. The legend shows the values under the pointer, else the sums. */
export function StackedChart({ title, times, series }: ChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const [index, setIndex] = useState<number | null>(null)
  const scheme = useComputedColorScheme('light')
  const count = series.length
  const columns = columnsOf(times, series)
  const latest = useRef(columns)
  useEffect(() => {
    latest.current = columns
    plot.current?.setData(columns)
  }, [times, series])

  useEffect(() => {
    const element = box.current
    if (element === null) return
    const made = new uPlot(optionsOf(element, count, setIndex), latest.current, element)
    plot.current = made
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.destroy()
      plot.current = null
    }
  }, [count, scheme])

  const at = index === null ? undefined : times[index]
  return (
    <figure>
      <div ref={box} className="ui-dim" role="img" aria-label={`${title}: ${summaryOf(times, series)}`} />
      <figcaption className="ui-row">
        {series.map(({ name, values }, place) => (
          // Two external names may be equal.
          <span key={place}>
            <svg viewBox="0 0 10 10" width="9" height="9" aria-hidden="true">
              <rect width="10" height="10" rx="2" fill={colors[place]} />
            </svg>{' '}
            <bdi>{shortText(name, 40)}</bdi> <b>{formatCount(at === undefined ? sumOf(values) : values[index ?? 0])}</b>
          </span>
        ))}
        <span className="ui-dim">{at === undefined ? 'in total' : `at ${formatTime(at).slice(11, 16)} UTC`}</span>
      </figcaption>
    </figure>
  )
}

/** The largest series, and the sum of all others as `other`. */
export function largestSeries(series: readonly Series[], max: number = colors.length): readonly Series[] {
  if (series.length <= max) return series
  const rest = series.slice(max - 1)
  const other = rest[0]?.values.map((_, index) => sumOf(rest.map(({ values }) => values[index] ?? 0))) ?? []
  return [...series.slice(0, max - 1), { name: 'other', values: other }]
}

/** Times, then the running sums, the highest first: later areas are drawn over it. */
function columnsOf(times: readonly string[], series: readonly Series[]): uPlot.AlignedData {
  const sums: number[][] = []
  for (const { values } of series) {
    const below = sums.at(-1)
    sums.push(values.map((value, index) => value + (below?.[index] ?? 0)))
  }
  return [times.map((at) => Date.parse(at) / 1000), ...sums.toReversed()]
}

function optionsOf(element: HTMLElement, count: number, onPoint: (index: number | null) => void): uPlot.Options {
  const axis = {
    stroke: getComputedStyle(element).color,
    font: '11px sans-serif',
    ticks: { show: false },
    grid: { stroke: '#8883', width: 1 },
  }
  const areas = colors
    .slice(0, count)
    .toReversed()
    .map((color): uPlot.Series => ({ fill: color, stroke: color, width: 1, points: { show: false } }))
  return {
    width: element.clientWidth,
    height,
    padding: [8, 12, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    scales: { y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.05 : 1] } },
    axes: [
      { ...axis, size: 24, space: 80, values: (_plot, splits) => splits.map(markOf) },
      { ...axis, size: 44, space: 36, incrs: wholeSteps, values: (_plot, splits) => splits.map(formatCount) },
    ],
    series: [{}, ...areas],
    hooks: { setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)] },
  }
}

const wholeSteps = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat()

/** The time of day; the date at midnight. */
function markOf(seconds: number): string {
  const text = formatTime(seconds * 1000)
  return text.endsWith('00:00:00') ? text.slice(5, 10) : text.slice(11, 16)
}

function summaryOf(times: readonly string[], series: readonly Series[]): string {
  const parts = series.map(({ name, values }) => {
    const max = Math.max(...values)
    const at = times[values.indexOf(max)]
    return `${shortText(name, 40)} ${formatCount(sumOf(values))}${at === undefined || max === 0 ? '' : `, at most ${formatCount(max)} at ${formatTime(at)}`}`
  })
  return parts.join('; ')
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}
