import { Button, Kbd } from '@mantine/core'
import { useHotkeys } from '@mantine/hooks'
import { useEffect, useMemo, useState } from 'react'
import { pathWith, useApi, usePages } from '../../ui/api.tsx'
import { EventLine } from '../../ui/event-line.tsx'
import { formatCount } from '../../ui/format.ts'
import { FilterField, NoMatch, TextFilter } from '../../ui/list.tsx'
import { useLive } from '../../ui/live.tsx'
import { eventTypes } from '../../ui/names.ts'
import { usePageLocation } from '../../ui/router.tsx'
import { Page } from '../../ui/shell.tsx'
import { Empty, Failure, Skeleton } from '../../ui/states.tsx'
import { DataTable, type Column } from '../../ui/table.tsx'
import { shortText } from '../../ui/text.tsx'
import { Time } from '../../ui/values.tsx'
import { ageColumn, codeColumn, textColumn } from '../../ui/columns.tsx'
import type { EventListJson, EventRowJson } from '../../../admin/events.ts'
import { EventPanel } from './event.tsx'
import { filterNames, filterOf, formatFilter, parseFilter, toQuery, type EventFilter } from './filter.ts'
import { eventStatuses, RunDots } from './runs.tsx'

const pageSize = 100
/** A response of the server searches for some milliseconds. A search goes on for this time, then needs a click. */
const searchMs = 500
/** A longer list isn't read again by itself. */
const maxLivePages = 2
const spans = [
  { value: '15m', label: 'Last 15 minutes' },
  { value: '1h', label: 'Last hour' },
  { value: '1d', label: 'Last day' },
  { value: '7d', label: 'Last week' },
]
const choices = [
  { name: 'type', label: 'Types', values: eventTypes },
  { name: 'status', label: 'Status', values: eventStatuses },
  { name: 'from', label: 'Time', values: spans },
] as const

const columns: readonly Column<EventRowJson>[] = [
  ageColumn('Age', 'received_at', { width: '3.75rem', narrow: 'plain' }),
  codeColumn('Type', 'type', { width: '12.5rem', isName: true }),
  { header: 'Summary', narrow: 'plain', cell: (event) => <Summary event={event} /> },
  textColumn('Network', 'network', { width: '6rem', isOptional: true, narrow: 'plain' }),
  { header: 'Runs', width: '6rem', narrow: 'plain', cell: (event) => <RunDots {...event} /> },
]

/** All accepted events, newest first and live; the panel shows one of them. */
export function EventsPage() {
  const api = useApi()
  const location = usePageLocation()
  const filter = filterOf(location.parameters)
  const text = formatFilter(filter)
  const { open: openId = null } = location.parameters
  const pages = usePages<EventListJson>(
    `/events ${text}`,
    (cursor) =>
      pathWith('/events', { ...toQuery(filter, Date.now()), details: 'true', limit: pageSize, cursor: cursor ?? '' }),
    { minRows: pageSize, searchMs },
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
  useLive('events', () => setNew(true))
  const isBehind = hasNew && isFollowing && !pages.isFetching
  useEffect(() => {
    if (isBehind) showNew()
  }, [isBehind])
  const close = () => location.go({ open: '' }, { replace: true })
  useHotkeys([['Escape', () => openId !== null && close()]])

  const change = (next: EventFilter) =>
    location.go({ ...Object.fromEntries(filterNames.map((name) => [name, next[name] ?? ''])), open: '' })
  const last = pages.data?.pages.at(-1)
  const isCutShort = last !== undefined && last.next_cursor !== null && last.data.length < pageSize
  const canLoadMore = pages.hasNextPage && !isCutShort && !pages.isFetching && !pages.isError
  const more = () => void pages.fetchNextPage()
  const exportLink = (format: 'csv' | 'ndjson') => (
    <Button
      component="a"
      variant="default"
      href={api.urlOf(pathWith('/export', { ...toQuery(filter, Date.now()), format }))}
      download
      aria-label={`Export ${format.toUpperCase()}`}
    >
      {format.toUpperCase()}
    </Button>
  )

  return (
    <Page title="Events" isFilling>
      <div className="ui-bar" role="search">
        <TextFilter
          label="Filter"
          placeholder="type: network: status: handler: address: from:1h, or words of the body"
          value={text}
          onChange={(value) => change(parseFilter(value))}
        />
        <span className="ui-row ui-wide-only">
          {choices.map((choice) => (
            <FilterField
              key={choice.name}
              filter={choice}
              value={filter[choice.name] ?? ''}
              onChange={(value) => change({ ...filter, [choice.name]: value })}
            />
          ))}
        </span>
        <span className="ui-row">
          {exportLink('csv')}
          {exportLink('ndjson')}
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
              hrefOf={({ id }) => location.hrefWith({ open: id })}
              openKey={openId}
              onTop={setTop}
              onEnd={() => canLoadMore && more()}
            />
          )}
          <div className="ui-foot">
            <span className="ui-row" role="status">
              {rows !== undefined && `${formatCount(rows.length)} loaded${pages.hasNextPage ? ', more available' : ''}`}
              {isCutShort && (
                <>
                  · searched to <Time at={last.searched_to} /> UTC
                  <Button size="compact-xs" variant="default" loading={pages.isFetchingNextPage} onClick={more}>
                    Search further
                  </Button>
                </>
              )}
              {hasNew && !isFollowing && (
                <Button size="compact-xs" onClick={showNew}>
                  Show new events
                </Button>
              )}
            </span>
            <span className="ui-keys">
              <Kbd>j</Kbd> <Kbd>k</Kbd> move · <Kbd>Enter</Kbd> open · <Kbd>/</Kbd> filter
            </span>
          </div>
        </div>
        {openId !== null && <EventPanel key={openId} id={openId} onClose={close} />}
      </div>
    </Page>
  )
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

function NoEvents() {
  return (
    <Empty title="No events yet">
      Events appear here as the sender delivers them. Send a test with <code>onchain-inbox trigger</code>.
    </Empty>
  )
}
