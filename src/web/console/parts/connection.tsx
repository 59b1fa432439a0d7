import { StatusBadge } from '../../ui/status-badge.tsx'
import { useStreamState } from '../../ui/use-stream.ts'

/** Whether what is shown is kept new. */
export function Connection() {
  const isOpen = useStreamState()
  return (
    <span role="status" className="ui-row">
      <StatusBadge status={isOpen ? 'live' : 'reconnecting'} tone={isOpen ? 'good' : 'warning'} />
    </span>
  )
}
