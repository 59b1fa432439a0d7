import { Anchor } from '@mantine/core'
import { Address } from '../../ui/address.tsx'
import { DataTable, type Column } from '../../ui/data-table.tsx'
import { formatBytes, formatCount } from '../../ui/format.ts'
import { useLocation } from '../../ui/hash-router.ts'
import { Page } from '../../ui/page.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { queryOf } from '../api-client.ts'
import type { ConflictJson } from '../contract.ts'
import { Arrive } from '../parts/bulk-arrive.tsx'
import { eventHref } from '../parts/bulk-links.ts'
import { useChanged, useList } from '../parts/bulk-list.ts'
import { LoadMore } from '../parts/bulk-more.tsx'
import { Clipped } from '../parts/bulk-text.tsx'
import { ConflictPanel } from '../parts/conflicts-one.tsx'

const pageSize = 50

/** The same id with other bytes: the first body was kept, the other one is shown beside it. */
export function ConflictsPage() {
  const { query } = useLocation()
  const event = query.get('event') ?? ''
  const digest = query.get('digest') ?? ''
  const list = useList<ConflictJson>(`/conflicts${queryOf({ limit: pageSize })}`)
  // Nothing says that there is a new one; they come with events, of which the health is told.
  useChanged('health', list.reload)
  return (
    <Page
      title="Conflicts"
      about="The same id came with another body. The first one is kept and was handled; the other one is only noted. Ask the sender which of them is right."
    >
      {event !== '' && digest !== '' && (
        <Arrive key={event + digest} label="Comparison">
          <ConflictPanel event={event} digest={digest} />
        </Arrive>
      )}
      <DataTable
        caption="Conflicts"
        rows={list.rows}
        error={list.error}
        onRetry={list.reload}
        rowKey={(conflict) => `${conflict.event_id} ${conflict.digest}`}
        empty={
          <EmptyState title="No conflicts">
            A sender that repeats an event sends the same bytes. Where it does not, both bodies are compared here.
          </EmptyState>
        }
        columns={columns}
      />
      <LoadMore list={list} />
    </Page>
  )
}

const columns: readonly Column<ConflictJson>[] = [
  {
    header: 'Event',
    isName: true,
    cell: (conflict) => <Address value={conflict.event_id} href={eventHref(conflict.event_id)} />,
  },
  { header: 'Type', cell: ({ type }) => <Clipped value={type} most={80} /> },
  { header: 'Came last', cell: (conflict) => <Time at={conflict.received_at} /> },
  { header: 'Came', isNumber: true, cell: ({ count }) => `${formatCount(count)} ×` },
  { header: 'Size', isNumber: true, cell: (conflict) => formatBytes(conflict.size_bytes) },
  {
    header: 'Bodies',
    cell: (conflict) => (
      <Anchor
        href={`#/conflicts${queryOf({ event: conflict.event_id, digest: conflict.digest })}`}
        aria-label={`Compare the bodies ${conflict.digest.slice(0, 12)}`}
      >
        Compare
      </Anchor>
    ),
  },
]
