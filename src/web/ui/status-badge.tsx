import { Badge } from '@mantine/core'
import { toVisible } from './plain-text.tsx'

export type Tone = 'good' | 'bad' | 'warning' | 'neutral' | 'info'

const colors = { good: 'green', bad: 'red', warning: 'yellow', neutral: 'gray', info: 'blue' } as const

/** A state in a word; the word says it, the colour only repeats it. */
export function StatusBadge({ status, tone = 'neutral' }: { readonly status: string; readonly tone?: Tone }) {
  return (
    <Badge variant="light" color={colors[tone]} radius="sm" className="ui-badge">
      {toVisible(status)}
    </Badge>
  )
}
