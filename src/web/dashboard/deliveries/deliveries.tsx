import { Link } from 'wouter'
import { Action } from '../../ui/action.tsx'
import { useGet, type ListJson } from '../../ui/api.tsx'
import { countColumn, textColumn, timeColumn, type Column } from '../../ui/table.tsx'
import { formatCount, formatCounted } from '../../ui/format.ts'
import { List, type Target } from '../../ui/list.tsx'
import { eventTypes } from '../../../../schema/names.ts'
import { Page } from '../../ui/shell.tsx'
import { Empty } from '../../ui/states.tsx'
import { Line, shortText } from '../../ui/text.tsx'
import type { Alert, Delivery, Webhook } from '../contract.ts'
import { DeliveryDetails, DeliveryStatus } from './delivery.tsx'

const columns: readonly Column<Delivery>[] = [
  timeColumn('Created (UTC)', 'createdAt', { narrow: 'plain' }),
  {
    header: 'Event',
    width: '13rem',
    isName: true,
    cell: ({ eventType, isReplay }) => <Line value={isReplay ? `${eventType} (replay)` : eventType} />,
  },
  { header: 'State', width: '8.5rem', narrow: 'plain', cell: (delivery) => <DeliveryStatus {...delivery} /> },
  countColumn('Attempts', 'attempts', { width: '5.25rem' }),
  {
    header: 'Last answer',
    width: '6.75rem',
    cell: ({ lastStatus, lastFailure }) => lastStatus ?? <Line value={lastFailure} />,
  },
  timeColumn('Next attempt (UTC)', 'nextAttemptAt', { isOptional: true }),
  textColumn('Endpoint', 'url', { isOptional: true }),
]

/** A link to the deliveries of an endpoint. */
export function deliveriesColumn<Row>(endpointOf: (row: Row) => string): Column<Row> {
  return {
    header: 'Deliveries',
    width: '6rem',
    narrow: 'plain',
    cell: (row) => <Link href={`/deliveries?endpoint=${encodeURIComponent(endpointOf(row))}`}>Deliveries</Link>,
  }
}

/** One delivery for each event and endpoint. Undelivered ones can be replayed, one by one or all (R87). */
export function DeliveriesPage() {
  const endpoints = useEndpoints()
  return (
    <Page title="Deliveries">
      <List
        caption="Deliveries"
        path="/deliveries"
        cursorName="after"
        rowKey={({ deliveryId }: Delivery) => deliveryId}
        columns={columns}
        filters={[
          { name: 'state', label: 'States', values: ['failed', 'undelivered', 'pending', 'acknowledged', 'cancelled'] },
          { name: 'type', label: 'Types', values: eventTypes },
          { name: 'endpoint', label: 'Endpoints', values: endpoints },
        ]}
        actions={(target) => <Replay {...target} />}
        detail={{ label: 'Delivery', render: (id) => <DeliveryDetails key={id} id={id} /> }}
        empty={
          <Empty title="No deliveries yet">Every event is sent to the webhooks that subscribed to its type.</Empty>
        }
      />
    </Page>
  )
}

/** Replays the selected deliveries, else all undelivered ones of the filtered type and endpoint. */
function Replay({ keys, filter: { type, endpoint } }: Target) {
  const hasSelection = keys.length > 0
  const request = {
    since: new Date(0).toISOString(),
    ...(type !== undefined && { type }),
    ...(endpoint !== undefined && { endpoint }),
  }
  return (
    <Action
      label={hasSelection ? `Replay ${deliveriesOf(keys.length)}` : 'Replay undelivered'}
      title={hasSelection ? 'Replay the selected deliveries?' : 'Replay all undelivered events?'}
      preview={async ({ api }) => {
        if (hasSelection) return toCounted(keys.length)
        const body = { ...request, dryRun: true }
        return toCounted((await api.send<{ readonly matched: number }>('POST', '/deliveries/replay', body)).matched)
      }}
      run={async ({ api }) => {
        if (hasSelection) {
          for (const id of keys) await api.send('POST', `/deliveries/${encodeURIComponent(id)}/replay`)
          return `${formatCount(keys.length)} replayed.`
        }
        const { replayed } = await api.send<{ readonly replayed: number }>('POST', '/deliveries/replay', request)
        return `${formatCount(replayed)} replayed.`
      }}
    >
      {type !== undefined || endpoint !== undefined ? 'Only deliveries of the filtered type and endpoint. ' : null}
      A replay sends the same bytes and id, with one attempt.
    </Action>
  )
}

const deliveriesOf = (count: number) => formatCounted(count, 'delivery', 'deliveries')

function toCounted(count: number) {
  return { count, text: `${deliveriesOf(count)}.` }
}

/** Webhooks and alerts as choices of a filter. */
function useEndpoints() {
  const webhooks = useGet<ListJson<Webhook>>('/webhooks').data?.data ?? []
  const alerts = useGet<ListJson<Alert>>('/alerts').data?.data ?? []
  return [
    ...webhooks.map(({ webhookId, url }) => ({ value: webhookId, label: shortText(url) })),
    ...alerts.map(({ alertId, label, type }) => ({ value: alertId, label: `Alert: ${shortText(label ?? type)}` })),
  ]
}
