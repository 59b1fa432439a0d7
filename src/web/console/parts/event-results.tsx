import { Button } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { formatCount } from '../../ui/format.ts'
import { goTo } from '../../ui/hash-router.ts'
import { EmptyState, ErrorState, LoadingState } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { VirtualTable } from '../../ui/virtual-table.tsx'
import { eventColumns } from './event-columns.tsx'
import { exportEvents } from './event-export.ts'
import { isFiltered, noFilters, placeOf, type EventFilters } from './event-filters.ts'
import { keepTrail, trailAt } from './event-trail.ts'
import { useEventList } from './use-event-list.ts'

export interface EventResultsProps {
  /** The same as long as the component is there. */
  readonly filters: EventFilters
  readonly isPaused: boolean
}

/** So far down, in pixels, somebody reads: what comes then waits. */
const readingPx = 40

/** The events of some filters, as they come. */
export function EventResults({ filters, isPaused }: EventResultsProps) {
  const place = placeOf(filters)
  const [before] = useState(() => trailAt(place))
  const offset = useRef(before?.offset ?? 0)
  const [isScrolled, setScrolled] = useState(offset.current > readingPx)
  const events = useEventList({ filters, isHeld: isPaused || isScrolled, initial: before?.list ?? null })
  const { list, error, isLoading } = events

  useEffect(() => {
    if (list !== null) keepTrail({ place, list, offset: offset.current })
  }, [place, list])
  const onScroll = (top: number) => {
    offset.current = top
    if (list !== null) keepTrail({ place, list, offset: top })
    setScrolled(top > readingPx)
  }
  const showNew = () => {
    events.showFresh()
    document.querySelector('[data-row-box]')?.scrollTo(0, 0)
  }

  const failed = <ErrorState error={error} onRetry={list === null ? events.reload : events.loadMore} />
  if (list === null) return error === null ? <LoadingState what="the events" /> : failed
  const { rows, fresh, hasGap, cursor, lookedBackTo } = list
  return (
    <section aria-label="Found events" className="ui-stack">
      <div className="ui-row ui-list-head">
        <span className="ui-row">
          <span className="ui-dimmed">
            {formatCount(rows.length)} loaded{cursor !== null && ', there are more'}
          </span>
          {(fresh.length > 0 || hasGap) && (
            <Button size="compact-sm" onClick={showNew}>
              {hasGap ? 'Many new' : `${formatCount(fresh.length)} new`}
            </Button>
          )}
        </span>
        {rows.length > 0 && <Exports onExport={(kind) => exportEvents(kind, rows)} />}
      </div>
      {failed}
      {rows.length === 0 ? (
        <NoEvents filters={filters} isDone={cursor === null} />
      ) : (
        <VirtualTable
          caption="Events"
          columns={eventColumns}
          rows={rows}
          rowKey={({ id }) => id}
          layout="ui-event-cells"
          initialOffset={offset.current}
          onScroll={onScroll}
          // Where the server gave up looking, or failed, it goes on only when somebody says so.
          onEnd={lookedBackTo === null && error === null ? events.loadMore : doNothing}
        />
      )}
      {lookedBackTo !== null && (
        <div className="ui-row">
          <span className="ui-dimmed">
            Looked back to <Time at={lookedBackTo} /> UTC.
          </span>
          <Button size="xs" variant="default" loading={isLoading} onClick={events.loadMore}>
            Continue
          </Button>
        </div>
      )}
    </section>
  )
}

function Exports({ onExport }: { readonly onExport: (kind: 'csv' | 'ndjson') => void }) {
  return (
    <span className="ui-row">
      <span className="ui-dimmed">Save loaded as</span>
      <Button variant="default" size="compact-sm" onClick={() => onExport('csv')}>
        CSV
      </Button>
      <Button variant="default" size="compact-sm" onClick={() => onExport('ndjson')}>
        NDJSON
      </Button>
    </span>
  )
}

function doNothing(): void {}

function NoEvents({ filters, isDone }: { readonly filters: EventFilters; readonly isDone: boolean }) {
  if (!isDone) return <EmptyState title="Nothing found so far">Older events were not looked at yet.</EmptyState>
  if (!isFiltered(filters))
    return (
      <EmptyState title="No events yet">
        They appear here as the service delivers them. Is a webhook registered, and does its address lead here?
      </EmptyState>
    )
  return (
    <EmptyState title="No event matches these filters">
      <Button size="xs" variant="default" onClick={() => goTo(placeOf(noFilters))}>
        Show all events
      </Button>
    </EmptyState>
  )
}
