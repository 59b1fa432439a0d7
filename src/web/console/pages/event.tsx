import { Anchor, Button } from '@mantine/core'
import { Address } from '../../ui/address.tsx'
import { EventLine } from '../../ui/event-line.tsx'
import { exactDigits } from '../../ui/exact-json.ts'
import { goTo } from '../../ui/hash-router.ts'
import { Facts, Page, Panel } from '../../ui/page.tsx'
import { PlainText } from '../../ui/plain-text.tsx'
import { useShortcuts } from '../../ui/shortcuts.ts'
import { EmptyState, ErrorState, LoadingState } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { useApi } from '../../ui/use-api.ts'
import { useStream, useStreamState } from '../../ui/use-stream.ts'
import { useThrottled } from '../../ui/use-throttled.ts'
import type { EventDetailJson } from '../contract.ts'
import { DeadRunActs, ReplayEvent } from '../parts/event-acts.tsx'
import { EventBody } from '../parts/event-body.tsx'
import { EventData, Place } from '../parts/event-data.tsx'
import { EventReceipt } from '../parts/event-receipt.tsx'
import { EventStatusBadge } from '../parts/event-status.tsx'
import { EventTimeline } from '../parts/event-timeline.tsx'
import { eventHref, trailPlace } from '../parts/event-trail.ts'
import { useBesides, type Besides } from '../parts/use-besides.ts'

const refreshMs = 1_000

/** One event: what it says, how it came, what each handler made of it, and its exact bytes. */
export function EventPage({ id }: { readonly id: string }) {
  const { data, error, reload } = useApi<EventDetailJson>(`/events/${encodeURIComponent(id)}`)
  const beside = useBesides(data)
  const refresh = useThrottled(reload, refreshMs)
  // Its own progress is not told of, but that of the handlers is.
  useStream('changed', () => isOpen(data) && refresh())
  useStreamState(reload)
  const goToEvent = (other: string | null) => other !== null && goTo(eventHref(other).slice(1))
  useShortcuts([
    { keys: 'j', label: 'Older event', run: () => goToEvent(beside.older) },
    { keys: 'k', label: 'Newer event', run: () => goToEvent(beside.newer) },
    { keys: 'u', label: 'Up to the list', run: () => goTo(trailPlace()) },
  ])

  if (data === null)
    return (
      <Page title="Event" about={<Up />}>
        {error === null ? <LoadingState what="the event" /> : <ErrorState error={error} onRetry={reload} />}
      </Page>
    )
  const fields = fieldsOf(data.envelope)
  return (
    <Page
      title={<PlainText value={cut(data.type)} />}
      about={<Up />}
      actions={
        <>
          <ReplayEvent event={data} onDone={reload} />
          <BesideLinks beside={beside} />
        </>
      }
    >
      <ErrorState error={error} onRetry={reload} />
      <Facts
        facts={[
          ['Status', <EventStatusBadge key="status" status={data.status} />],
          ['Created', <Created key="created" at={data.created_at} />],
          ['Id', <Address key="id" value={data.id} />],
          ['Number', data.seq],
          ['Network', <PlainText key="network" value={cut(data.network ?? '')} />],
          [
            'Address',
            data.address === null ? (
              '–'
            ) : (
              <Place key="address" kind="address" network={data.network} value={data.address} />
            ),
          ],
          ['Key', <Address key="key" value={data.key} />],
        ]}
      />
      {fields !== null && (
        <Panel title="What it says">
          <p className="ui-note">
            <EventLine type={data.type} data={shortened(fields['data'])} />
          </p>
          <EventData type={data.type} data={fields['data']} />
        </Panel>
      )}
      {data.pruned && (
        <EmptyState title="Its body is no longer kept">
          Retention has taken it, with the history of its runs. That it came, and its id, stay for ever.
        </EmptyState>
      )}
      {!data.pruned && <EventTimeline event={data} actsOf={(run) => <DeadRunActs run={run} onDone={reload} />} />}
      <EventReceipt receipt={data.receipt} />
      {!data.pruned && <EventBody id={data.id} />}
    </Page>
  )
}

function Up() {
  return <Anchor href={`#${trailPlace()}`}>All events</Anchor>
}

function BesideLinks({ beside: { newer, older } }: { readonly beside: Besides }) {
  const link = (label: string, id: string | null) =>
    id === null ? (
      <Button size="xs" variant="default" disabled>
        {label}
      </Button>
    ) : (
      <Button size="xs" variant="default" component="a" href={eventHref(id)}>
        {label}
      </Button>
    )
  return (
    <>
      {link('Newer', newer)}
      {link('Older', older)}
    </>
  )
}

/** `created_at` is the sender's: where it is no time it is shown as it came. */
function Created({ at }: { readonly at: string }) {
  return Number.isNaN(Date.parse(at)) ? <PlainText value={cut(at)} /> : <Time at={at} />
}

/** Whether something may still become of it. */
function isOpen(event: EventDetailJson | null): boolean {
  return event !== null && ['pending', 'running', 'retrying', 'held', 'dead'].includes(event.status)
}

function fieldsOf(envelope: unknown): Readonly<Record<string, unknown>> | null {
  return typeof envelope === 'object' && envelope !== null ? { ...envelope } : null
}

/** For the line: whole texts and exact numbers stand below. */
function shortened(data: unknown): unknown {
  const entries = Object.entries(fieldsOf(data) ?? {})
  return Object.fromEntries(
    entries.map(([name, value]) => {
      const digits = exactDigits(value)
      return [name, typeof value === 'string' ? cut(value) : digits === null ? value : Number(digits)]
    }),
  )
}

/** A name may go on and on. */
function cut(text: string): string {
  return text.length <= 200 ? text : `${text.slice(0, 200)}…`
}
