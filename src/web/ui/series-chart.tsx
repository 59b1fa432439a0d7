import { useComputedColorScheme } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import uPlot from 'uplot'
import { formatTime } from './format.ts'
import { toVisible } from './plain-text.tsx'
import { namedSeries, plotSeries, summarize, type ChartSeries } from './series-data.ts'
import { SeriesTable } from './series-table.tsx'
import { timeMarks } from './time-marks.ts'
import './series-chart.css'

export interface SeriesChartProps {
  /** What it shows, such as `Events by type`. */
  readonly title: string
  /** Begins of the buckets, oldest first, all of them `bucketS` seconds long. */
  readonly times: readonly string[]
  readonly bucketS: number
  /** With a value for each bucket. The first seven have a colour of their own. */
  readonly series: readonly ChartSeries[]
  /** `stacked`: counts that add up, as bars. */
  readonly kind: 'stacked' | 'lines'
  readonly format: (value: number) => string
  /** A value that should not be reached, drawn as a line of its own where it is in sight. */
  readonly limit?: { readonly name: string; readonly value: number }
  /** In place of a chart without any value. */
  readonly empty: string
}

const height = 224
const colorCount = 7
/** Between the marks of counts. */
const wholeSteps = Array.from({ length: 13 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat()

/**
 * Several series over time (UTC): stacked bars or lines, with a legend that says the values below the pointer, their course in
 * words, and all of them as a table.
 */
export function SeriesChart(props: SeriesChartProps) {
  const { title, times, bucketS, series, kind, format, limit, empty } = props
  const box = useRef<HTMLDivElement>(null)
  const [index, setIndex] = useState<number | null>(null)
  const scheme = useComputedColorScheme('light')
  const hasValues = series.some(({ values }) => values.some((value) => value !== null && value !== 0))
  const limitValue = limit?.value

  const count = series.length
  const plot = useRef<uPlot | null>(null)
  const newest = useRef({ times, series })
  useEffect(() => {
    newest.current = { times, series }
  })

  useEffect(() => {
    const element = box.current
    if (element === null) return
    const spanOf = () => spanInSeconds(newest.current.times, kind === 'stacked' ? bucketS : 0)
    const made = new uPlot(
      optionsOf({ width: element.clientWidth, count, kind, format, limitValue, spanOf }, setIndex),
      columnsOf(newest.current, kind),
      element,
    )
    plot.current = made
    const observer = new ResizeObserver(() => made.setSize({ width: element.clientWidth, height }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      made.destroy()
      plot.current = null
    }
  }, [count, bucketS, kind, format, limitValue, scheme, hasValues])

  // New values alone are drawn into the plot that is there: the pointer may be on it.
  useEffect(() => plot.current?.setData(columnsOf({ times, series }, kind)), [times, series, kind])

  if (!hasValues) return <p className="ui-dimmed">{empty}</p>
  const at = index === null ? undefined : times[index]
  return (
    <div className="ui-chart">
      <p className="ui-chart-read ui-dimmed">
        {at === undefined ? (kind === 'stacked' ? 'In all of this time:' : 'The newest:') : `${formatTime(at)} UTC:`}
      </p>
      <ul className="ui-legend">
        {namedSeries(series, kind, at === undefined ? null : index).map(({ name, value }, place) => (
          // Names come from elsewhere, and two may be the same.
          <li key={place}>
            <svg className={`ui-series-${place % colorCount}`} viewBox="0 0 10 10" aria-hidden="true" focusable="false">
              <rect width="10" height="10" rx="2" />
            </svg>
            <bdi className="ui-text">{toVisible(name)}</bdi> <strong>{value === null ? '–' : format(value)}</strong>
          </li>
        ))}
      </ul>
      <div
        ref={box}
        className="ui-chart-plot ui-series-plot"
        role="img"
        aria-label={`${title}: ${summarize({ times, series, kind, format, limit })}`}
      />
      <SeriesTable title={title} times={times} series={series} format={format} />
    </div>
  )
}

type Values = Pick<SeriesChartProps, 'times' | 'series'>

function columnsOf({ times, series }: Values, kind: SeriesChartProps['kind']): uPlot.AlignedData {
  return [times.map(toSeconds), ...plotSeries(series, kind)]
}

/** From the begin of the first bucket to that of the last, or to its end. */
function spanInSeconds(times: readonly string[], bucketS: number): [number, number] {
  return [toSeconds(times[0] ?? ''), toSeconds(times.at(-1) ?? '') + bucketS]
}

function toSeconds(at: string): number {
  return Date.parse(at) / 1000
}

interface PlotInput extends Pick<SeriesChartProps, 'kind' | 'format'> {
  readonly width: number
  /** Of series. */
  readonly count: number
  readonly limitValue: number | undefined
  readonly spanOf: () => [number, number]
}

function optionsOf(input: PlotInput, onPoint: (index: number | null) => void): uPlot.Options {
  const { width, count, kind, format, limitValue, spanOf } = input
  const style = getComputedStyle(document.documentElement)
  const color = (name: string) => style.getPropertyValue(name).trim()
  const axis = { stroke: color('--mantine-color-dimmed'), grid: { stroke: color('--ui-border'), width: 1 } }
  const bars = uPlot.paths.bars?.({ size: [0.85, 40], align: 1 })
  const drawn = Array.from({ length: count }, (_, place): uPlot.Series => {
    const own = color(`--ui-series-${place % colorCount}`)
    return kind === 'stacked'
      ? { fill: own, stroke: own, width: 0, points: { show: false }, ...(bars && { paths: bars }) }
      : { stroke: own, width: 1.75, spanGaps: false, points: { show: true, size: 4, fill: own, stroke: own } }
  })
  return {
    width,
    height,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
    scales: {
      x: { range: spanOf },
      y: { range: (_plot, _low, high) => [0, high > 0 ? high * 1.08 : 1] },
    },
    axes: [
      { ...axis, space: 72, values: timeMarks },
      {
        ...axis,
        size: 72,
        ...(kind === 'stacked' && { incrs: wholeSteps }),
        values: (_plot, splits) => splits.map(format),
      },
    ],
    // The highest of what is stacked is drawn first, and the others over it.
    series: [{}, ...(kind === 'stacked' ? drawn.toReversed() : drawn)],
    hooks: {
      setCursor: [({ cursor }) => onPoint(cursor.idx ?? null)],
      draw: limitValue === undefined ? [] : [(plot) => drawLimit(plot, limitValue, color('--ui-bad'))],
    },
  }
}

function drawLimit(plot: uPlot, value: number, stroke: string): void {
  if (value > (plot.scales['y']?.max ?? 0)) return
  const { ctx, bbox } = plot
  const y = Math.round(plot.valToPos(value, 'y', true))
  ctx.save()
  ctx.strokeStyle = stroke
  ctx.setLineDash([6, 4])
  ctx.beginPath()
  ctx.moveTo(bbox.left, y)
  ctx.lineTo(bbox.left + bbox.width, y)
  ctx.stroke()
  ctx.restore()
}
