import { formatCount } from '../../ui/format.ts'
import { List } from '../../ui/list.tsx'
import { Facts } from '../../ui/shell.tsx'
import { Empty } from '../../ui/states.tsx'
import type { Column } from '../../ui/table.tsx'
import { Line, shortText } from '../../ui/text.tsx'
import { Time } from '../../ui/values.tsx'
import { textColumn, timeColumn } from '../../ui/columns.tsx'
import type { AuditJson } from '../../../admin/health.ts'

const columns: readonly Column<AuditJson>[] = [
  timeColumn('Time (UTC)', 'at', { width: '10.5rem' }),
  textColumn('Action', 'action', { width: '12rem', isName: true }),
  { header: 'Detail', cell: ({ detail }) => <Line value={detailText(detail)} max={200} fallback="" /> },
  { header: 'By', width: '16rem', cell: ({ by }) => <Line value={by} fallback="the inbox" /> },
  textColumn('User agent', 'user_agent', { width: '14rem', isOptional: true }),
]

/** What operators did, newest first. */
export function AuditList() {
  return (
    <List
      caption="Audit"
      path="/audit"
      rowKey={({ id }: AuditJson) => String(id)}
      columns={columns}
      detail={{
        label: 'Action',
        render: (_id, row) =>
          row === undefined ? <Empty title="Not among the loaded actions" /> : <Entry entry={row} />,
      }}
      empty={<Empty title="No actions yet">Sign-ins, and everything an operator changes, appear here.</Empty>}
    />
  )
}

function Entry({ entry: { at, action, detail, by, user_agent: userAgent } }: { readonly entry: AuditJson }) {
  return (
    <Facts
      facts={[
        ['Action', action],
        ['Time (UTC)', <Time key="at" at={at} />],
        ['By', by ?? 'the inbox'],
        ['User agent', userAgent],
        ...Object.entries(detail).map(([name, value]) => [shortText(name, 60), valueText(value)] as const),
      ]}
    />
  )
}

function detailText(detail: AuditJson['detail']): string {
  return Object.entries(detail)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name} ${valueText(value)}`)
    .join(', ')
}

function valueText(value: unknown): string {
  if (Array.isArray(value) && value.length > 20) return `${formatCount(value.length)} items`
  return typeof value === 'string' ? value : JSON.stringify(value)
}
