import { DataTable } from '../../ui/data-table.tsx'
import { formatCount } from '../../ui/format.ts'
import { LongText } from '../../ui/long-text.tsx'
import { Panel } from '../../ui/page.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { StatusBadge } from '../../ui/status-badge.tsx'
import { Time } from '../../ui/time.tsx'
import type { SecretUseJson } from '../contract.ts'

export interface SecretsPanelProps {
  /** Null while they are not known. */
  readonly secrets: readonly SecretUseJson[] | null
  readonly error?: Error | null
  readonly onRetry?: () => void
}

/** Secrets by their labels, and when each has verified an event: what is not used any more can go. Values are nowhere. */
export function SecretsPanel({ secrets, error = null, onRetry }: SecretsPanelProps) {
  return (
    <Panel title="Secrets" about="By their labels. After a rotation the old one can go once its last use is long past.">
      <DataTable
        caption="Secrets"
        rows={secrets}
        error={error}
        {...(onRetry && { onRetry })}
        rowKey={({ label }) => label}
        empty={<EmptyState title="No secrets">Set INBOX_SECRETS or INBOX_SECRETS_FILE.</EmptyState>}
        columns={columns}
      />
    </Panel>
  )
}

const columns = [
  { header: 'Label', isName: true, cell: ({ label }: SecretUseJson) => <LongText value={label} /> },
  {
    header: 'State',
    cell: ({ configured, last_used_at: last }: SecretUseJson) =>
      configured ? (
        <StatusBadge status={last === null ? 'never used' : 'in use'} tone={last === null ? 'warning' : 'good'} />
      ) : (
        <StatusBadge status="gone" />
      ),
  },
  { header: 'First used (UTC)', cell: ({ first_used_at: at }: SecretUseJson) => <Time at={at} /> },
  { header: 'Last used (UTC)', cell: ({ last_used_at: at }: SecretUseJson) => <Time at={at} /> },
  { header: 'Events', isNumber: true, cell: ({ events }: SecretUseJson) => formatCount(events) },
]
