import type { ReactNode } from 'react'
import { VisuallyHidden } from '@mantine/core'
import { Link } from 'wouter'
import { Action } from '../../ui/action.tsx'
import { ApiError, useGet } from '../../ui/api.tsx'
import { EventLine } from '../../ui/event-line.tsx'
import { filledIn, type Field } from '../../ui/form.tsx'
import { formatCount } from '../../ui/format.ts'
import { Facts, Page } from '../../ui/shell.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Status } from '../../ui/status.tsx'
import { shortText, Text } from '../../ui/text.tsx'
import { Id, OnChain, Time } from '../../ui/values.tsx'
import type { EventDetailJson } from '../../../admin/events.ts'
import { Fold, Headers } from '../error-box.tsx'
import { useIsOperator } from '../role.ts'
import { Body } from './body.tsx'
import { eventPath } from './event-id.tsx'
import { EventStatus, RunErrors, Runs } from './runs.tsx'

const useEvent = (id: string) => useGet<EventDetailJson>(eventPath(id))

/** Names the source of an event; nothing for the default source. */
export function SourceBadge({ source }: { readonly source: string }) {
  return source === 'default' ? null : <Status tone="info">{shortText(source, 40)}</Status>
}

/** The type of an event, once it is loaded. */
export function EventType({ id }: { readonly id: string }) {
  return <code>{shortText(useEvent(id).data?.type ?? 'Event', 100)}</code>
}

/** The page of an event. */
export function EventPage({ id }: { readonly id: string }) {
  const event = useEvent(id).data
  return (
    <Page
      title={shortText(event?.type ?? 'Event', 100)}
      actions={
        <>
          <ReplayAction id={id} />
          <Link href="/events">All events</Link>
        </>
      }
    >
      <div className="ui-stack console-event">
        <VisuallyHidden component="h2">Details</VisuallyHidden>
        <EventContent id={id} />
      </div>
    </Page>
  )
}

/** Everything about an event: its errors first. */
export function EventContent({ id }: { readonly id: string }) {
  const query = useEvent(id)
  if (query.error instanceof ApiError && query.error.status === 404 && query.data === undefined)
    return <Empty title="No event has this id">It was never accepted here. Rejected requests have no events.</Empty>
  return (
    <Loaded query={query} rows={12}>
      {(event) => <Sections event={event} />}
    </Loaded>
  )
}

function Sections({ event }: { readonly event: EventDetailJson }) {
  const { source, type, network, receipt, envelope } = event
  const data = source === 'default' ? (envelope as { readonly data?: unknown } | null)?.data : envelope
  const storedMs = Math.max(0, Date.parse(receipt.stored_at ?? '') - Date.parse(receipt.received_at))
  return (
    <>
      <RunErrors event={event} />
      <p>
        <EventStatus status={event.status} /> <SourceBadge source={source} /> <EventLine type={type} data={data} />{' '}
        <span className="ui-dim">
          {network !== null && `on ${shortText(network, 40)} · `}
          <Time at={event.received_at} /> UTC
        </span>
      </p>
      {event.pruned ? (
        <p className="ui-dim">Body and runs were pruned. The id stays known.</p>
      ) : (
        <>
          <section className="ui-stack">
            <h3>Payload</h3>
            <Payload type={type} network={network} data={data} />
          </section>
          <section className="ui-stack">
            <h3>Runs</h3>
            <Runs event={event} />
          </section>
          <Body id={event.id} size={receipt.size_bytes} />
        </>
      )}
      <section className="ui-stack">
        <h3>Receipt</h3>
        <Facts
          facts={{
            id: <Id value={event.id} />,
            key: <Id value={event.key} label="key" />,
            created: event.created_at,
            received: <Time at={receipt.received_at} />,
            stored: Number.isNaN(storedMs) ? null : `+${storedMs} ms`,
            deliveries: `${formatCount(1 + receipt.duplicates)} (${formatCount(receipt.duplicates)} duplicates)`,
            conflicts: <Link href="/deliveries/conflicts">{formatCount(receipt.conflicts)}</Link>,
            secret: receipt.secret_label,
            trace: receipt.traceparent,
          }}
        />
        {receipt.headers !== null && (
          <Fold title="Headers">
            <Headers headers={receipt.headers} />
          </Fold>
        )}
      </section>
    </>
  )
}

interface PayloadProps {
  readonly type: string
  readonly network: string | null
  readonly data: unknown
}

/** The body has all fields. */
const maxFields = 60

/** The fields of `data`: numbers exact, addresses and transactions with their explorer. */
function Payload({ type, network, data }: PayloadProps) {
  if (typeof data !== 'object' || data === null) return <p className="ui-dim">The body has no data.</p>
  const fields: Readonly<Record<string, unknown>> = { ...data }
  const chain = type.startsWith('pump.') ? 'solana' : (fields['network'] ?? network)
  const entries = Object.entries(fields)
  return (
    <>
      <Facts
        facts={Object.fromEntries(
          entries
            .slice(0, maxFields)
            .map(([name, value]) => [shortText(name, 60), <code key={name}>{cellOf(name, value, chain)}</code>]),
        )}
      />
      {entries.length > maxFields && <p className="ui-dim">The body has {entries.length - maxFields} more fields.</p>}
    </>
  )
}

function cellOf(name: string, value: unknown, network: unknown): ReactNode {
  if (typeof value !== 'string') return <Text value={JSON.stringify(value)} />
  if (/(_address|_owner|_pool)$/.test(name)) return <OnChain kind="address" network={network} value={value} />
  if (/(^|_)tx(_hash)?$/.test(name)) return <OnChain kind="transaction" network={network} value={value} />
  return <Text value={value} />
}

/** Runs the event again. Sinks are no choice: they get their items from handlers. */
export function ReplayAction({ id }: { readonly id: string }) {
  const event = useEvent(id).data
  if (!useIsOperator() || event === undefined || event.pruned) return null
  const handlers = [...new Set(event.runs.filter(({ item }) => item === null).map((run) => run.handler))]
  return (
    <Action
      label="Replay"
      title="Replay this event?"
      isPrimary
      fields={[handlerField(handlers)]}
      run={async ({ api, value }) => {
        await api.send('POST', '/replays', { ids: [id], ...filledIn(value, 'handler') })
        return 'The replay has started.'
      }}
    >
      It runs after all live work, with the same idempotency key.
    </Action>
  )
}

function handlerField(names: readonly string[]): Field {
  const choices = names.map((value) => ({ value, label: shortText(value) }))
  return {
    name: 'handler',
    label: 'Handler',
    isOptional: true,
    choices: [{ value: '', label: 'All handlers' }, ...choices],
  }
}
