import { Button } from '@mantine/core'
import { useState } from 'react'
import { formatCount } from './format.ts'

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
  if (typeof value !== 'string' || value === '') return fallback
  if (value.length <= max) return <bdi>{toVisible(value)}</bdi>
  return (
    <>
      <bdi>{isOpen ? toVisible(value) : shortText(value, max)}</bdi>{' '}
      <Button size="compact-xs" variant="default" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? 'Show less' : `Show all ${formatCount(value.length)} characters`}
      </Button>
    </>
  )
}

/** External text cut to one line. The title holds at most 500 characters of it. */
export function Line({ value, max = 160, fallback = '–' }: TextProps) {
  if (typeof value !== 'string' || value === '') return fallback
  return <bdi title={shortText(value, 500)}>{shortText(value, max)}</bdi>
}

/** The beginning of a text, safe to show. */
export function shortText(value: string, max = 80): string {
  return value.length <= max ? toVisible(value) : `${toVisible(beginOf(value, max))}…`
}

/** Control characters, direction marks and unusual line separators. */
const unseen = /[\p{Cc}\p{Cf}\u2028\u2029]/gu

/** Replaces invisible characters by their codes: `\u{202e}`. */
export function toVisible(text: string): string {
  return text.replaceAll(unseen, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`)
}

/** Doesn't split a surrogate pair. */
function beginOf(value: string, chars: number): string {
  return value.slice(0, chars).replace(/[\ud800-\udbff]$/, '')
}

/** More characters would freeze the page. */
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
