import { Button, Group, NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { useApiClient } from '../../ui/api.ts'
import { Address } from '../../ui/address.tsx'
import { DataTable } from '../../ui/data-table.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { EventLine } from '../../ui/event-line.tsx'
import { JsonView } from '../../ui/json-view.tsx'
import { Page } from '../../ui/page.tsx'
import { EmptyState, ErrorState } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { useAct } from '../../ui/use-act.ts'
import { useApi } from '../../ui/use-api.ts'
import { queryOf } from '../api-client.ts'
import type { WorldEvent } from '../contract.ts'
import { eventTypes } from '../names.ts'
import { hrefOf } from '../parts/links.ts'

const pageSize = 100

/** The log of the world's events, newest first. */
export function EventsPage() {
  const api = useApiClient()
  const [type, setType] = useState('')
  const { data, error, reload } = useApi<readonly WorldEvent[]>(at(type))
  /** Older ones, and what they were loaded after. */
  const [older, setOlder] = useState<{ readonly of: unknown; readonly rows: readonly WorldEvent[] } | null>(null)
  const [shown, setShown] = useState<WorldEvent | null>(null)
  const { run, isBusy, error: olderError } = useAct()

  const more = older?.of === data ? older.rows : []
  const rows = data && [...data, ...more]
  const hasOlder = rows !== null && rows.length > 0 && rows.length % pageSize === 0
  const loadOlder = () =>
    void run(async () => {
      const last = rows?.at(-1)
      if (last === undefined) return
      const next = await api.get<readonly WorldEvent[]>(at(type, last.seq))
      setOlder({ of: data, rows: [...more, ...next] })
    })

  return (
    <Page
      title="Events"
      about="Everything that has happened in the world, newest first."
      actions={
        <Button variant="default" onClick={reload}>
          Refresh
        </Button>
      }
    >
      <Group>
        <NativeSelect
          label="Type"
          data={[{ value: '', label: 'All' }, ...eventTypes]}
          value={type}
          onChange={(event) => setType(event.currentTarget.value)}
        />
      </Group>
      <DataTable
        caption="Events"
        rows={rows}
        error={error}
        onRetry={reload}
        rowKey={({ seq }) => String(seq)}
        empty={<EmptyState title="No events yet">A trigger makes one arise at once.</EmptyState>}
        columns={[
          { header: 'Time', cell: ({ event }) => <Time at={event.created_at} /> },
          { header: 'Type', isName: true, cell: ({ event }) => <code>{event.type}</code> },
          {
            header: 'What happened',
            cell: ({ event }) => <EventLine type={event.type} data={event.data} hrefOf={hrefOf} />,
          },
          { header: 'Id', cell: ({ event }) => <Address value={event.id} /> },
          {
            header: 'Event',
            cell: (row) => (
              <Button
                size="xs"
                variant="default"
                aria-label={`Show event ${row.event.id}`}
                onClick={() => setShown(row)}
              >
                Show
              </Button>
            ),
          },
        ]}
      />
      <ErrorState error={olderError} />
      {hasOlder && (
        <Group justify="center">
          <Button variant="default" loading={isBusy} onClick={loadOlder}>
            Load more
          </Button>
        </Group>
      )}
      <Dialog title={shown?.event.type ?? 'Event'} isOpen={shown !== null} onClose={() => setShown(null)}>
        {shown !== null && <JsonView text={JSON.stringify(shown.event)} label="Event" />}
      </Dialog>
    </Page>
  )
}

function at(type: string, after?: number): string {
  return `/events${queryOf({ order: 'newest', limit: pageSize, type, after })}`
}
