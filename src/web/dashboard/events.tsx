import { Link } from 'wouter'
import { EventLine } from '../ui/event-line.tsx'
import { JsonView } from '../ui/json-view.tsx'
import { List } from '../ui/list.tsx'
import { eventTypes } from '../../../schema/names.ts'
import { Facts, Page } from '../ui/shell.tsx'
import { Empty } from '../ui/states.tsx'
import type { Column } from '../ui/table.tsx'
import { Line } from '../ui/text.tsx'
import { Id, Time } from '../ui/values.tsx'
import type { WorldEvent } from './contract.ts'

export const eventColumns: readonly Column<WorldEvent>[] = [
  { header: 'Time (UTC)', width: '10rem', narrow: 'plain', cell: ({ event }) => <Time at={event.created_at} /> },
  { header: 'Type', width: '15rem', isName: true, cell: ({ event }) => <Line value={event.type} /> },
  { header: 'Summary', narrow: 'plain', cell: ({ event }) => <EventLine type={event.type} data={event.data} /> },
]

export const eventKey = ({ seq }: WorldEvent) => String(seq)

export const noEvents = (
  <Empty title="No events yet">
    The world produces events by itself. <Link href="/triggers">Trigger one</Link> to see it at once.
  </Empty>
)

/** The world's events as they arise, newest first. */
export function EventsPage() {
  return (
    <Page title="Events">
      <List
        caption="Events"
        path="/events?order=newest"
        cursorName="after"
        rowKey={eventKey}
        columns={eventColumns}
        filters={[{ name: 'type', label: 'Types', values: eventTypes }]}
        detail={{
          label: 'Event',
          render: (_seq, row) =>
            row === undefined ? <Empty title="Not among the loaded events" /> : <Event row={row} />,
        }}
        empty={noEvents}
      />
    </Page>
  )
}

function Event({ row: { event } }: { readonly row: WorldEvent }) {
  return (
    <>
      <EventLine type={event.type} data={event.data} />
      <Facts facts={{ Type: event.type, Id: <Id value={event.id} />, 'Time (UTC)': <Time at={event.created_at} /> }} />
      <JsonView text={JSON.stringify(event)} label="Event" />
    </>
  )
}
