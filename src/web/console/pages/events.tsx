import { Button } from '@mantine/core'
import { useMemo, useState } from 'react'
import { goTo, useLocation } from '../../ui/hash-router.ts'
import { Icon } from '../../ui/icons.tsx'
import { Page } from '../../ui/page.tsx'
import { useShortcuts } from '../../ui/shortcuts.ts'
import { StatusBadge } from '../../ui/status-badge.tsx'
import { EventFilterForm } from '../parts/event-filter-form.tsx'
import { filtersOf, placeOf } from '../parts/event-filters.ts'
import { EventResults } from '../parts/event-results.tsx'

/** What came in, newest first, as it comes; filters stand in the address of the page. */
export function EventsPage() {
  const { query } = useLocation()
  const text = query.toString()
  const filters = useMemo(() => filtersOf(new URLSearchParams(text)), [text])
  const [isPaused, setPaused] = useState(false)
  const pause = () => setPaused(!isPaused)
  useShortcuts([{ keys: '.', label: 'Pause the live tail, or go on', run: pause }])

  return (
    <Page
      title="Events"
      about="Everything that was accepted, newest first."
      actions={
        filters.to === '' && (
          <>
            {isPaused && <StatusBadge status="paused" tone="warning" />}
            <Button
              variant="default"
              size="xs"
              leftSection={<Icon name={isPaused ? 'play' : 'pause'} />}
              onClick={pause}
            >
              {isPaused ? 'Go on' : 'Pause'}
            </Button>
          </>
        )
      }
    >
      <EventFilterForm
        filters={filters}
        onChange={(next) => goTo(placeOf(next))}
        isSearch={query.get('focus') === 'search'}
      />
      <EventResults key={placeOf(filters)} filters={filters} isPaused={isPaused} />
    </Page>
  )
}
