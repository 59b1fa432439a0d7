import { Button, NativeSelect } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { EventLine } from '../../ui/event-line.tsx'
import { Icon } from '../../ui/icons.tsx'
import { Panel } from '../../ui/page.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../ui/states.tsx'
import { StatusBadge } from '../../ui/status-badge.tsx'
import { Time } from '../../ui/time.tsx'
import { useApi } from '../../ui/use-api.ts'
import { useStream, useStreamState } from '../../ui/use-stream.ts'
import { useThrottled } from '../../ui/use-throttled.ts'
import type { WorldEvent } from '../contract.ts'
import { eventTypes } from '../names.ts'
import { hrefOf } from './links.ts'

const keptRows = 200
const redrawMs = 250

/** The events of the world as they arise, newest first. */
export function LiveFeed() {
  const [type, setType] = useState('')
  const { data, error, reload } = useApi<readonly WorldEvent[]>('/events?order=newest&limit=50')
  const feed = useFeed()
  const { rows, isPaused, waiting } = feed
  const isOpen = useStreamState(reload)
  useStream<WorldEvent>('event', (event) => feed.add(event))
  useEffect(() => {
    if (data !== null) feed.begin(data)
    // Once for each answer; the feed itself changes with everything it gets.
  }, [data])

  const shown = rows.filter(({ event }) => type === '' || event.type === type)
  return (
    <Panel
      title="Live events"
      actions={
        <>
          <StatusBadge
            status={isPaused ? `paused, ${waiting} new` : isOpen ? 'live' : 'connecting'}
            tone={isPaused ? 'warning' : isOpen ? 'good' : 'neutral'}
          />
          <NativeSelect
            size="xs"
            aria-label="Type of the live events"
            data={[{ value: '', label: 'All types' }, ...eventTypes]}
            value={type}
            onChange={(event) => setType(event.currentTarget.value)}
          />
          <Button
            size="xs"
            variant="default"
            leftSection={<Icon name={isPaused ? 'play' : 'pause'} />}
            onClick={() => feed.pause(!isPaused)}
          >
            {isPaused ? 'Go on' : 'Pause'}
          </Button>
        </>
      }
    >
      <ErrorState error={error} onRetry={reload} />
      {data === null && error === null ? (
        <LoadingState what="the events" />
      ) : shown.length === 0 ? (
        <EmptyState title="No events yet">The world brings them forth by itself; a trigger does it at once.</EmptyState>
      ) : (
        <div className="ui-feed-box" role="region" aria-label="Live events, newest first" tabIndex={0}>
          <ol className="ui-feed">
            {shown.map(({ event }) => (
              <li key={event.id}>
                <Time at={event.created_at} />
                <code>{event.type}</code>
                <EventLine type={event.type} data={event.data} hrefOf={hrefOf} />
              </li>
            ))}
          </ol>
        </div>
      )}
    </Panel>
  )
}

/** The newest events: what comes while it is paused waits. Many that come at once are drawn together. */
function useFeed() {
  const kept = useRef<readonly WorldEvent[]>([])
  const [rows, setRows] = useState<readonly WorldEvent[]>([])
  const [isPaused, setPaused] = useState(false)
  const [waiting, setWaiting] = useState(0)
  const draw = () => {
    if (!isPaused) return setRows(kept.current)
    const known = kept.current.findIndex(({ event }) => event.id === rows[0]?.event.id)
    setWaiting(known < 0 ? kept.current.length : known)
  }
  const drawSoon = useThrottled(draw, redrawMs)
  const keep = (events: readonly WorldEvent[]) => {
    const ids = new Set(events.map(({ event }) => event.id))
    kept.current = [...events, ...kept.current.filter(({ event }) => !ids.has(event.id))].slice(0, keptRows)
  }
  return {
    rows,
    isPaused,
    waiting,
    /** What there is already, newest first. */
    begin(events: readonly WorldEvent[]) {
      keep(events)
      draw()
    },
    add(event: WorldEvent) {
      keep([event])
      drawSoon()
    },
    pause(next: boolean) {
      setPaused(next)
      setWaiting(0)
      if (!next) setRows(kept.current)
    },
  }
}
