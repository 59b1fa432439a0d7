import { Alert } from '@mantine/core'
import { formatCount, formatDuration } from '../../ui/format.ts'
import { toVisible } from '../../ui/plain-text.tsx'
import { useOverview } from './overview.ts'

/** Where words are looked for: what cannot be found by them yet, or at all. */
export function IndexLag() {
  const index = useOverview()?.index
  if (index === undefined || (index.state === 'current' && index.behind === 0)) return null
  if (index.state === 'off')
    return (
      <Alert color="yellow" variant="light" title="There is no index to search">
        {toVisible(index.reason ?? 'Bodies are looked at one by one, which is slow.')}
      </Alert>
    )
  return (
    <p className="ui-dimmed ui-note" role="status">
      The index is {formatCount(index.behind)} events ({formatDuration(index.lag_ms)}) behind: these are looked at one
      by one, so that it may take longer.
    </p>
  )
}
