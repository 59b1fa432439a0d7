import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { Sparkline, type SparklineProps } from './sparkline.tsx'

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
