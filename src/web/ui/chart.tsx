import { useComputedColorScheme } from '@mantine/core'
import { useEffect, useId, useRef, useState } from 'react'
import uPlot from 'uplot'
import { formatTime } from './format.ts'
import { timeMarks } from './time-marks.ts'

export interface ChartPoint {
  readonly at: string
  readonly value: number
}

export interface ChartProps {
  /** What the line is, as `Price in USD`. */
  readonly title: string
  /** Oldest first. */
  readonly points: readonly ChartPoint[]
  readonly format: (value: number) => string
}

const height = 256

/** A line over time (UTC), with its course in words for who does not see it, and the value below the pointer. */
export function Chart({ title, points, format }: ChartProps) {
  const box = useRef<HTMLDivElement>(null)
  const [index, setIndex] = useState<number | null>(null)
  const scheme = useComputedColorScheme('light')
  const readId = useId()
  const shown = points[index ?? points.length - 1]

  useEffect(() => {
    const element = box.current
    if (element === null || points.length < 2) return
    const style = getComputedStyle(document.documentElement)
    const color = (name: string) => style.getPropertyValue(name).trim()
    const axis = { stroke: color('--mantine-color-dimmed'), grid: { stroke: color('--ui-border'), width: 1 } }
    const plot = new uPlot(
      {
        width: element.clientWidth,
        height,
        legend: { show: false },
        cursor: { y: false, drag: { x: false, y: false } },
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), 'Etc/UTC'),
        axes: [
          { ...axis, space: 80, values: timeMarks },
          { ...axis, size: 84, values: (_plot, splits) => splits.map(format) },
        ],
        series: [{}, { stroke: color('--mantine-color-anchor'), width: 1.5, points: { show: false } }],
        hooks: { setCursor: [({ cursor }) => setIndex(cursor.idx ?? null)] },
      },
      [points.map(({ at }) => Date.parse(at) / 1000), points.map(({ value }) => value)],
      element,
    )
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [points, scheme, format])

  if (points.length < 2) return <p className="ui-dimmed">There is no course to draw yet.</p>
  return (
    <div className="ui-chart">
      <p id={readId} className="ui-chart-read">
        {shown !== undefined && (
          <>
            <strong>{format(shown.value)}</strong> <span className="ui-dimmed">at {formatTime(shown.at)} UTC</span>
          </>
        )}
      </p>
      <div ref={box} className="ui-chart-plot" role="img" aria-label={`${title}: ${inWords(points, format)}`} />
    </div>
  )
}

function inWords(points: readonly ChartPoint[], format: (value: number) => string): string {
  const values = points.map(({ value }) => value)
  const [first, last] = [points.at(0), points.at(-1)]
  if (first === undefined || last === undefined) return 'nothing'
  const ends = `from ${format(first.value)} at ${formatTime(first.at)} to ${format(last.value)} at ${formatTime(last.at)}`
  return `${ends}; lowest ${format(Math.min(...values))}, highest ${format(Math.max(...values))}`
}
