import { DataTable } from '../../ui/data-table.tsx'
import { LongText } from '../../ui/long-text.tsx'
import { Page } from '../../ui/page.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import type { AuditJson } from '../contract.ts'
import { AuditLine } from '../parts/audit-line.tsx'
import { useChanged, useList } from '../parts/bulk-list.ts'
import { LoadMore } from '../parts/bulk-more.tsx'
import '../parts/overview.css'

/** Who did what, and when, the newest first. */
export function AuditPage() {
  const list = useList<AuditJson>('/audit?limit=100')
  useChanged('audit', list.reload)
  return (
    <Page title="Audit" about="Every act on this inbox, the newest first: here, by the API, and by the command line.">
      <DataTable
        caption="Acts"
        rows={list.rows}
        error={list.error}
        onRetry={list.reload}
        rowKey={({ id }) => String(id)}
        empty={<EmptyState title="Nobody has done anything yet">Acts appear here as soon as they are done.</EmptyState>}
        columns={columns}
      />
      <LoadMore list={list} />
    </Page>
  )
}

const columns = [
  { header: 'At (UTC)', cell: ({ at }: AuditJson) => <Time at={at} /> },
  {
    header: 'Who',
    cell: ({ by }: AuditJson) =>
      by === null ? <span className="ui-dimmed">the inbox, or a command on its file</span> : <LongText value={by} />,
  },
  { header: 'What', isName: true, cell: (audit: AuditJson) => <AuditLine audit={audit} /> },
]
