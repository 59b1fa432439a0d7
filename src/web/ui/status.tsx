import { Badge } from '@mantine/core'
import type { ReactNode } from 'react'

export type Tone = 'good' | 'bad' | 'warning' | 'neutral' | 'info'

/** A variable of the style sheet, which has one for each tone. */
export const colorOf = (tone: Tone) => `var(--ui-${tone})`

/** A state in words; the colour only repeats it. */
export function Status({ tone = 'neutral', children }: { readonly tone?: Tone; readonly children: ReactNode }) {
  return (
    <Badge component="span" variant="light" color={colorOf(tone)}>
      {children}
    </Badge>
  )
}

export type DotShape = 'done' | 'open' | 'retrying' | 'failed' | 'ended'

const shapes: Readonly<Record<DotShape, ReactNode>> = {
  done: <circle cx="6" cy="6" r="4" fill="#12a061" />,
  open: <circle cx="6" cy="6" r="3.2" fill="none" stroke="currentColor" strokeWidth="1.8" />,
  retrying: <path d="M6 1.2L11 10.4H1Z" fill="#e2820a" />,
  failed: <path d="M2 2l8 8M10 2l-8 8" stroke="#e5372b" strokeWidth="2.4" strokeLinecap="round" />,
  ended: <rect x="2" y="5" width="8" height="2" fill="currentColor" />,
}

export interface DotProps {
  readonly shape: DotShape
  /** Read by screen readers, and shown on hover: `ledger: dead`. */
  readonly label: string
}

/** A state as a small shape, for dense lists. Every shape differs in form, not by colour alone. */
export function Dot({ shape, label }: DotProps) {
  return (
    <svg className="ui-dim" viewBox="0 0 12 12" width="11" height="11" role="img" aria-label={label}>
      <title>{label}</title>
      {shapes[shape]}
    </svg>
  )
}
