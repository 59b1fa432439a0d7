import { NativeSelect } from '@mantine/core'
import { Address } from '../../ui/address.tsx'
import { DataTable, type Column } from '../../ui/data-table.tsx'
import { formatCount } from '../../ui/format.ts'
import { goTo, useLocation } from '../../ui/hash-router.ts'
import { Page, Panel } from '../../ui/page.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { useApi } from '../../ui/use-api.ts'
import { queryOf } from '../api-client.ts'
import type { DriftJson } from '../contract.ts'
import { eventHref } from '../parts/bulk-links.ts'
import { useChanged } from '../parts/bulk-list.ts'
import { Clipped } from '../parts/bulk-text.tsx'
import { driftKinds } from '../parts/drift-kinds.ts'

const kinds = Object.keys(driftKinds) as DriftJson['kind'][]

/** How events differ from what the service documents of them; every one of them was accepted. */
export function DriftPage() {
  const kind = useLocation().query.get('kind') ?? ''
  const { data, error, reload } = useApi<{ readonly data: readonly DriftJson[] }>('/drift')
  useChanged('health', reload)
  const all = data?.data ?? null
  const rows = all?.filter((drift) => kind === '' || drift.kind === kind) ?? null
  const found = kinds.filter((one) => all?.some((drift) => drift.kind === one))
  return (
    <Page
      title="Drift"
      about="How events differ from what the service documents of them. All of these were accepted and handled; this is to be known before a handler trips over it."
    >
      <div className="ui-form" role="search" aria-label="Filter of the drift">
        <NativeSelect
          label="Kind"
          data={[{ value: '', label: 'All' }, ...kinds.map((one) => ({ value: one, label: driftKinds[one].title }))]}
          value={kind}
          onChange={(event) => goTo(`/drift${queryOf({ kind: event.currentTarget.value })}`, { replace: true })}
        />
      </div>
      <DataTable
        caption="Drift"
        rows={rows}
        error={error}
        onRetry={reload}
        rowKey={(drift) => `${drift.kind} ${drift.type} ${drift.path}`}
        empty={
          <EmptyState title={kind === '' ? 'Events are as they are documented' : 'None of this kind'}>
            Events are looked at after they were stored, by the index; what differs is counted here with its first
            example.
          </EmptyState>
        }
        columns={columns}
      />
      {found.length > 0 && (
        <Panel title="What to do">
          <ul className="bulk-list">
            {found.map((one) => (
              <li key={one}>
                <strong>{driftKinds[one].title}:</strong> {driftKinds[one].todo}
              </li>
            ))}
          </ul>
        </Panel>
      )}
    </Page>
  )
}

const columns: readonly Column<DriftJson>[] = [
  { header: 'What', isName: true, cell: ({ kind }) => driftKinds[kind]?.title ?? 'Another kind' },
  { header: 'Type', cell: ({ type }) => <Clipped value={type} most={80} /> },
  { header: 'Field', cell: ({ path }) => <Clipped value={path} most={120} /> },
  { header: 'Documented', cell: ({ expected }) => <Clipped value={expected} most={200} /> },
  { header: 'Came first', cell: ({ example }) => <Clipped value={example} most={200} /> },
  { header: 'Events', isNumber: true, cell: ({ count }) => formatCount(count) },
  { header: 'First', cell: (drift) => <Time at={drift.first_at} /> },
  { header: 'Last', cell: (drift) => <Time at={drift.last_at} /> },
  {
    header: 'First event',
    cell: (drift) => <Address value={drift.first_event_id} href={eventHref(drift.first_event_id)} />,
  },
]
