import { colorOf, type Tone } from './status.tsx'

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
