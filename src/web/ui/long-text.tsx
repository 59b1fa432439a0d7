import { Button } from '@mantine/core'
import { useState } from 'react'
import { formatCount } from './format.ts'
import { PlainText, toVisible } from './plain-text.tsx'
import './long-text.css'

const shownChars = 300

/** Text from elsewhere that may be as long as its sender likes: its begin, and all of it when somebody wants it. */
export function LongText({ value }: { readonly value: string | null }) {
  const [isOpen, setOpen] = useState(false)
  if (value === null || value.length <= shownChars) return <PlainText value={value} />
  const said = isOpen ? 'less' : `all ${formatCount(value.length)} characters`
  return (
    <span className="ui-long-text">
      {isOpen ? (
        <span className="ui-long-text-all" role="region" aria-label="All of the text" tabIndex={0}>
          <PlainText value={value} />
        </span>
      ) : (
        <PlainText value={`${beginOf(value)}…`} />
      )}{' '}
      <Button
        size="compact-xs"
        variant="default"
        aria-expanded={isOpen}
        aria-label={`Show ${said}`}
        title={`Show ${said}`}
        onClick={() => setOpen(!isOpen)}
      >
        {isOpen ? 'Show less' : 'Show all'}
      </Button>
    </span>
  )
}

/** The begin of a text that has no room for more than a line. */
export function shortText(value: string, chars = 80): string {
  return toVisible(value.length <= chars ? value : `${beginOf(value, chars)}…`)
}

/** Not cut within a character that takes two units. */
export function beginOf(value: string, chars = shownChars): string {
  return value.slice(0, chars).replace(/[\ud800-\udbff]$/, '')
}
