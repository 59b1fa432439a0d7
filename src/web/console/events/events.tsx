import { Button, NativeSelect } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { useMemo, useState } from 'react'
import { pathWith, useApi, usePages } from '../../ui/api.tsx'
import { EventLine } from '../../ui/event-line.tsx'
import { formatCount } from '../../ui/format.ts'
import { NoMatch, TextFilter } from '../../ui/list.tsx'
import { useLive } from '../../ui/live.tsx'
import { eventTypes } from '../../ui/names.ts'
import { usePlace } from '../../ui/router.tsx'
import { Page } from '../../ui/shell.tsx'
import { Empty, Failure, Skeleton } from '../../ui/states.tsx'
import { DataTable, type Column } from '../../ui/table.tsx'
import { Line, shortText } from '../../ui/text.tsx'
import { Age, Time } from '../../ui/values.tsx'
import type { EventListJson, EventRowJson } from '../contract.ts'
import { EventPanel } from './event.tsx'
import { filterNames, filterOf, formatFilter, parseFilter, toQuery, type EventFilter } from './filter.ts'
import { eventStatuses, RunDots } from './runs.tsx'

const pageSize = 100
/** A longer list isn't read again by itself. */
const maxLivePages = 2
const spans = [
  { value: '', label: 'Any time' },
  { value: '15m', label: 'Last 15 minutes' },
  { value: '1h', label: 'Last hour' },
  { value: '1d', label: 'Last day' },
  { value: '7d', label: 'Last week' },
]

const columns: readonly Column<EventRowJson>[] = [
  {
    header: 'Age',
    width: '3.75rem',
    isNumber: true,
    narrow: 'plain',
    cell: ({ received_at: at }) => (
      <span className="ui-dim">
        <Age at={at} />
      </span>
    ),
  },
  {
    header: 'Type',
    width: '12.5rem',
    isName: true,
    cell: ({ type }) => (
      <code>
        <Line value={type} max={80} />
      </code>
    ),
  },
  { header: 'Summary', narrow: 'plain', cell: (event) => <Summary event={event} /> },
  {
    header: 'Network',
    width: '6rem',
    isOptional: true,
    narrow: 'plain',
    cell: ({ network }) => (
      <span className="ui-dim">
        <Line value={network} max={40} />
      </span>
    ),
  },
  {
    header: 'Runs',
    width: '6rem',
    narrow: 'plain',
    cell: ({ status, runs }) => <RunDots status={status} runs={runs ?? []} />,
  },
]

/** All accepted events, newest first and live; the panel shows one of them. */
export function EventsPage() {
  const api = useApi()
  const place = usePlace()
  const filter = filterOf(place.parameters)
  const text = formatFilter(filter)
  const { open: openId = null } = place.parameters
  const pages = usePages<EventListJson>(`/events ${text}`, (cursor) =>
    pathWith('/events', { ...toQuery(filter, Date.now()), details: 'true', limit: pageSize, cursor: cursor ?? '' }),
  )
  const rows = useMemo(() => {
    const all = pages.data?.pages.flatMap(({ data }) => data)
    // A page that was read again may overlap the next one.
    return all && [...new Map(all.map((row) => [row.seq, row])).values()]
  }, [pages.data])
  const [isTop, setTop] = useState(true)
  const [hasNew, setNew] = useState(false)
  const isFollowing = isTop && (pages.data?.pages.length ?? 0) <= maxLivePages
  const showNew = () => {
    setNew(false)
    void pages.refetch()
  }
  useLive('events', () => {
    if (!isFollowing) setNew(true)
    else if (!pages.isFetching) showNew()
  })
  const close = () => place.go({ open: '' }, { replace: true })
  useHotkeys([['Escape', () => openId !== null && close()]])

  const change = (next: EventFilter) =>
    place.go({ ...Object.fromEntries(filterNames.map((name) => [name, next[name] ?? ''])), open: '' })
  const last = pages.data?.pages.at(-1)
  // The server ends a search after half a second. The next one needs a click.
  const isCutShort = last !== undefined && last.next_cursor !== null && last.data.length < pageSize
  const more = () => void pages.fetchNextPage()
  const exportUrl = (format: string) => api.urlOf(pathWith('/export', { ...toQuery(filter, Date.now()), format }))

  return (
    <Page title="Events" isFilling>
      <div className="ui-bar" role="search">
        <TextFilter
          label="Filter"
          placeholder="type: network: status: handler: address: from:1h, or words of the body"
          value={text}
          onChange={(value) => change(parseFilter(value))}
        />
        <Choice
          label="types"
          values={eventTypes}
          value={filter.type}
          onChange={(type) => change({ ...filter, type })}
        />
        <Choice
          label="status"
          values={eventStatuses}
          value={filter.status}
          onChange={(status) => change({ ...filter, status })}
        />
        <NativeSelect
          aria-label="Time"
          data={[
            ...spans,
            ...(spans.some(({ value }) => value === (filter.from ?? ''))
              ? []
              : [{ value: filter.from ?? '', label: `Since ${filter.from}` }]),
          ]}
          value={filter.from ?? ''}
          onChange={(event) => change({ ...filter, from: event.currentTarget.value })}
        />
        <span className="ui-row">
          <a className="ui-button" href={exportUrl('csv')} download aria-label="Export CSV">
            CSV
          </a>
          <a className="ui-button" href={exportUrl('ndjson')} download aria-label="Export NDJSON">
            NDJSON
          </a>
        </span>
      </div>
      <div className="ui-split">
        <div className="ui-list">
          <Failure error={pages.error} onRetry={() => (rows === undefined ? showNew() : more())} />
          {rows === undefined && pages.error === null && <Skeleton rows={20} />}
          {rows?.length === 0 && !isCutShort && (text === '' ? <NoEvents /> : <NoMatch onClear={() => change({})} />)}
          {rows !== undefined && rows.length > 0 && (
            <DataTable
              isMain
              caption="Events"
              columns={columns}
              rows={rows}
              rowKey={({ id }) => id}
              hrefOf={({ id }) => place.hrefWith({ open: id })}
              openKey={openId}
              onTop={setTop}
              onEnd={() => {
                if (pages.hasNextPage && !isCutShort && !pages.isFetching && !pages.isError) more()
              }}
            />
          )}
          <div className="ui-foot">
            <span className="ui-row" role="status">
              {rows !== undefined && (
                <>
                  {formatCount(rows.length)} loaded{pages.hasNextPage ? ', more available' : ''}
                </>
              )}
              {isCutShort && (
                <>
                  · searched to <Time at={last.searched_to} /> UTC
                  <Button size="compact-xs" variant="default" loading={pages.isFetchingNextPage} onClick={more}>
                    Search further
                  </Button>
                </>
              )}
              {hasNew && (
                <Button size="compact-xs" onClick={showNew}>
                  Show new events
                </Button>
              )}
            </span>
            <span className="ui-keys">
              <kbd>j</kbd> <kbd>k</kbd> move · <kbd>Enter</kbd> open · <kbd>/</kbd> filter
            </span>
          </div>
        </div>
        {openId !== null && <EventPanel key={openId} id={openId} onClose={close} />}
      </div>
    </Page>
  )
}

interface ChoiceProps {
  readonly label: string
  readonly values: readonly string[]
  readonly value: string | undefined
  readonly onChange: (value: string) => void
}

function Choice({ label, values, value = '', onChange }: ChoiceProps) {
  const isKnown = value === '' || values.includes(value)
  return (
    <NativeSelect
      className="ui-wide-only"
      aria-label={label}
      data={[
        { value: '', label: `All ${label}` },
        ...values,
        ...(isKnown ? [] : [{ value, label: shortText(value, 40) }]),
      ]}
      value={value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  )
}

function Summary({ event: { type, data, runs = [] } }: { readonly event: EventRowJson }) {
  const failed = runs.find(({ error, state }) => error !== null && state !== 'done')
  return (
    <span className="console-summary">
      <span>
        <EventLine type={type} data={data} />
      </span>
      {failed?.error !== null && failed !== undefined && (
        <span className="console-row-error">
          {shortText(failed.handler, 30)}: {shortText(failed.error.message || failed.error.name, 120)}
        </span>
      )}
    </span>
  )
}

function NoEvents() {
  return (
    <Empty title="No events yet">
      Events appear here as the sender delivers them. Send a test with <code>onchain-inbox trigger</code>.
    </Empty>
  )
}
