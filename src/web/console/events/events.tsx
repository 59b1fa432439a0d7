import { Button } from '@mantine/core'
import { Link } from 'wouter'
import { pathWith, useApi, useGet } from '../../ui/api.tsx'
import { EventLine } from '../../ui/event-line.tsx'
import { List, type Filter, type FilterValues } from '../../ui/list.tsx'
import { eventTypes } from '../../../../schema/names.ts'
import { Page } from '../../ui/shell.tsx'
import { Empty } from '../../ui/states.tsx'
import { type Column, ageColumn, textColumn } from '../../ui/table.tsx'
import { Line, shortText } from '../../ui/text.tsx'
import type { EventRowJson } from '../../../admin/events.ts'
import type { HealthJson } from '../../../admin/health.ts'
import { EventContent, EventType, ReplayAction, SourceBadge } from './event.tsx'
import { eventPath } from './event-id.tsx'
import { filterNames, formatFilter, parseFilter, toQuery } from './filter.ts'
import { eventStatuses, RunDots } from './runs.tsx'

/** A response of the server searches for some milliseconds. A search goes on for this time, then needs a click. */
const searchMs = 500
const filters: readonly Filter[] = [
  { name: 'type', label: 'Types', values: eventTypes },
  { name: 'status', label: 'Statuses', values: eventStatuses },
  {
    name: 'from',
    label: 'Times',
    values: [
      { value: '15m', label: 'Last 15 minutes' },
      { value: '1h', label: 'Last hour' },
      { value: '1d', label: 'Last day' },
      { value: '7d', label: 'Last week' },
    ],
  },
]

const columns: readonly Column<EventRowJson>[] = [
  ageColumn('Age', 'received_at', { width: '3.75rem', narrow: 'plain' }),
  {
    header: 'Type',
    width: '12.5rem',
    isName: true,
    cell: ({ type, source }) => (
      <>
        <SourceBadge source={source} />{' '}
        <code>
          <Line value={type} />
        </code>
      </>
    ),
  },
  { header: 'Summary', narrow: 'plain', cell: (event) => <Summary event={event} /> },
  textColumn('Network', 'network', { width: '6rem', isOptional: true, narrow: 'plain' }),
  { header: 'Runs', width: '6rem', narrow: 'plain', cell: (event) => <RunDots {...event} /> },
]

/** All accepted events, newest first and live; the panel shows one of them. */
export function EventsPage() {
  const sources = useGet<HealthJson>('/health').data?.sources.map(({ source }) => source) ?? []
  return (
    <Page title="Events">
      <List
        caption="Events"
        path="/events?details=true"
        rowKey={({ id }: EventRowJson) => id}
        columns={columns}
        line={{
          names: filterNames,
          placeholder: 'source: type: network: status: handler: address: from:1h, or words of the body',
          parse: parseFilter,
          format: formatFilter,
          toQuery: (filter) => toQuery(filter, Date.now()),
        }}
        filters={sources.length > 1 ? [{ name: 'source', label: 'Sources', values: sources }, ...filters] : filters}
        searchMs={searchMs}
        liveKind="events"
        links={(query) => <Exports query={query} />}
        detail={{
          label: 'Event',
          title: (id) => <EventType id={id} />,
          actions: (id) => (
            <>
              <ReplayAction key={id} id={id} />
              <Button component={Link} variant="default" href={eventPath(id)} aria-label="Open as page">
                Open
              </Button>
            </>
          ),
          render: (id) => <EventContent key={id} id={id} />,
        }}
        empty={
          <Empty title="No events yet">
            Events appear here as the sender delivers them. Send a test with <code>onchain-inbox trigger</code>.
          </Empty>
        }
      />
    </Page>
  )
}

/** Links that stream all events of the filter. */
function Exports({ query }: { readonly query: FilterValues }) {
  const api = useApi()
  return ['csv', 'ndjson'].map((format) => (
    <Button
      key={format}
      component="a"
      variant="default"
      href={api.urlOf(pathWith('/export', { ...query, format }))}
      download
      aria-label={`Export ${format.toUpperCase()}`}
    >
      {format.toUpperCase()}
    </Button>
  ))
}

function Summary({ event: { type, data, runs = [] } }: { readonly event: EventRowJson }) {
  const failed = runs.find(({ error, state }) => error !== null && state !== 'done')
  return (
    <span className="console-summary">
      <span>
        <EventLine type={type} data={data} />
      </span>
      {failed !== undefined && (
        <span className="ui-text-bad">
          {shortText(failed.handler, 30)}: {shortText(failed.error?.message || failed.error?.name || '', 120)}
        </span>
      )}
    </span>
  )
}
