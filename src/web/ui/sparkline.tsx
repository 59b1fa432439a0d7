import type { Tone } from './status.tsx'

export interface SparklineProps {
  /** Oldest first; null where there is no value. */
  readonly values: readonly (number | null)[]
  readonly tone?: Tone
  /** Values below are drawn at the bottom. Default 0. */
  readonly min?: number
  /** Read by screen readers. */
  readonly label: string
}

const width = 100
const height = 24

/** A line without axes. The highest value touches the top. */
export function Sparkline({ values, tone = 'info', min = 0, label }: SparklineProps) {
  const max = Math.max(min, ...values.map((value) => value ?? min))
  const step = width / Math.max(1, values.length - 1)
  const lines: string[] = []
  let isOpen = false
  for (const [index, value] of values.entries()) {
    if (value !== null) {
      const share = max === min ? 0 : (Math.max(min, value) - min) / (max - min)
      lines.push(`${isOpen ? 'L' : 'M'}${(index * step).toFixed(1)} ${(height - 1 - share * (height - 2)).toFixed(1)}`)
    }
    isOpen = value !== null
  }
  return (
    <svg
      className={`ui-spark ui-${tone}`}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path d={lines.join(' ')} vectorEffect="non-scaling-stroke" />
    </svg>
  )
}
