import { Button } from '@mantine/core'
import { useState } from 'react'
import { formatCount } from './format.ts'
import { toVisible } from './plain-text.tsx'

export interface TextProps {
  readonly value: unknown
  /** Characters that are shown before a button shows the rest. */
  readonly max?: number
  /** In place of no text. */
  readonly fallback?: string
}

/** External text: never markup, invisible characters as codes, long text behind a button. */
export function Text({ value, max = 300, fallback = '–' }: TextProps) {
  const [isOpen, setOpen] = useState(false)
  if (typeof value !== 'string' || value === '') return <>{fallback}</>
  if (value.length <= max) return <bdi>{toVisible(value)}</bdi>
  return (
    <span className="ui-long">
      <bdi>{isOpen ? toVisible(value) : `${toVisible(beginOf(value, max))}…`}</bdi>{' '}
      <Button size="compact-xs" variant="default" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Show less' : `Show all ${formatCount(value.length)} characters`}
      </Button>
    </span>
  )
}

/** External text cut to one line. The title holds at most 500 characters of it. */
export function Line({ value, max = 160, fallback = '–' }: TextProps) {
  if (typeof value !== 'string' || value === '') return <>{fallback}</>
  return <bdi title={toVisible(beginOf(value, 500))}>{shortText(value, max)}</bdi>
}

/** The beginning of a text, safe to show. */
export function shortText(value: string, max = 80): string {
  return value.length <= max ? toVisible(value) : `${toVisible(beginOf(value, max))}…`
}

/** Doesn't split a surrogate pair. */
function beginOf(value: string, chars: number): string {
  return value.slice(0, chars).replace(/[\ud800-\udbff]$/, '')
}

/** More would freeze the page. */
const maxBlock = 100_000

/** External text with its own line breaks. */
export function TextBlock({ value, label }: { readonly value: string; readonly label: string }) {
  const rest = value.length - maxBlock
  return (
    <pre tabIndex={0} role="region" aria-label={label} className="ui-block">
      {beginOf(value, maxBlock).split('\n').map(toVisible).join('\n')}
      {rest > 0 && `\n… ${formatCount(rest)} more characters`}
    </pre>
  )
}
