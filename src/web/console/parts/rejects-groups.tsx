import { Anchor } from '@mantine/core'
import { DataTable, type Column } from '../../ui/data-table.tsx'
import { formatBytes, formatCount } from '../../ui/format.ts'
import { Panel } from '../../ui/page.tsx'
import { toVisible } from '../../ui/plain-text.tsx'
import { Time } from '../../ui/time.tsx'
import { queryOf } from '../api-client.ts'
import type { RejectGroupJson } from '../contract.ts'
import { Clipped } from './bulk-text.tsx'
import { rejectReason } from './rejects-reasons.ts'

export interface RejectPanelProps {
  readonly reason: string
  readonly groups: readonly RejectGroupJson[]
}

/** Requests refused for one reason: what it means, and the sources it came from, those that came last first. */
export function RejectPanel({ reason, groups }: RejectPanelProps) {
  const { title, means, todo } = rejectReason(reason)
  const count = groups.reduce((sum, group) => sum + group.count, 0)
  return (
    <Panel title={`${title}: ${formatCount(count)}`} about={`${means} ${todo}`}>
      <p className="ui-note">
        <code className="bulk-words ui-mono">{toVisible(reason)}</code>
      </p>
      <DataTable
        caption={`Sources: ${title}`}
        rows={groups.toSorted((a, b) => b.last_at.localeCompare(a.last_at))}
        rowKey={({ id }) => id}
        empty={null}
        columns={columns}
      />
    </Panel>
  )
}

const columns: readonly Column<RejectGroupJson>[] = [
  { header: 'Source', isName: true, cell: ({ source }) => <Clipped value={source} most={64} /> },
  {
    header: 'Signature',
    cell: ({ id, source, explainable }) =>
      explainable ? (
        <Anchor href={`#/rejects${queryOf({ id })}`} aria-label={toVisible(`Explain the signature from ${source}`)}>
          Explain
        </Anchor>
      ) : (
        <span className="ui-dimmed">–</span>
      ),
  },
  { header: 'Requests', isNumber: true, cell: ({ count }) => formatCount(count) },
  { header: 'First', cell: (group) => <Time at={group.first_at} /> },
  { header: 'Last', cell: (group) => <Time at={group.last_at} /> },
  { header: 'Request', cell: ({ method, path }) => <Clipped value={`${method} ${path}`} most={120} /> },
  {
    header: 'Size',
    isNumber: true,
    cell: (group) => (group.size_bytes === null ? 'not read' : formatBytes(group.size_bytes)),
  },
]
