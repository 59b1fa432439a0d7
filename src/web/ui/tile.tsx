import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { colorOf, type Tone } from './status.tsx'

export interface TileProps extends Partial<Pick<SparklineProps, 'values' | 'tone'>> {
  readonly title: string
  /** The page that explains the figure. */
  readonly href: string
  readonly value: ReactNode
  readonly note?: ReactNode
}

/** A figure that links to a page, with its course if there are `values`. Wrap tiles in an element of the class `ui-tiles`. */
export function Tile({ title, href, value, note, values, tone = 'info' }: TileProps) {
  return (
    <Link href={href} className="ui-tile">
      <span className="ui-dim">{title}</span>
      <strong className={tone === 'bad' ? 'ui-text-bad' : undefined}>{value}</strong>
      <span className="ui-dim">{note}</span>
      {values !== undefined && <Sparkline values={values} tone={tone} label={`${title} over time`} />}
    </Link>
  )
}

export interface SparklineProps {
  /** Oldest first; null where there is no value. */
  readonly values: readonly (number | null)[]
  readonly tone?: Tone
  /** Read by screen readers. */
  readonly label: string
}

const width = 100
const height = 24

/** A line from 0 without axes. The highest value touches the top. */
export function Sparkline({ values, tone = 'info', label }: SparklineProps) {
  const max = Math.max(...values.map((value) => value ?? 0))
  const step = width / Math.max(1, values.length - 1)
  const points = values.map((value, index) => {
    if (value === null) return ''
    const y = height - 1 - (max > 0 ? value / max : 0) * (height - 2)
    return `${(values[index - 1] ?? null) === null ? 'M' : 'L'}${(index * step).toFixed(1)} ${y.toFixed(1)}`
  })
  return (
    <svg
      display="block"
      width="100%"
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path
        d={points.join(' ')}
        fill="none"
        stroke={colorOf(tone)}
        strokeWidth="1.4"
        vectorEffect="non-scaling-stroke"
      />
    </svg>
  )
}
