import { Anchor, Button, Group, NativeSelect } from '@mantine/core'
import { useState } from 'react'
import { DataTable } from '../../ui/data-table.tsx'
import { goTo, useLocation } from '../../ui/hash-router.ts'
import { Page } from '../../ui/page.tsx'
import { PlainText, toVisible } from '../../ui/plain-text.tsx'
import { EmptyState, ErrorState } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { useAct } from '../../ui/use-act.ts'
import { useApi } from '../../ui/use-api.ts'
import { queryOf } from '../api-client.ts'
import type { Alert, Delivery, Webhook } from '../contract.ts'
import { eventTypes } from '../names.ts'
import { DeliveryStateBadge } from '../parts/delivery-state.tsx'
import type { DeliveryFilter } from '../parts/delivery-list.ts'
import { deliveryHref } from '../parts/links.ts'
import { useDeliveries } from '../parts/use-deliveries.ts'
import { BulkReplay } from './bulk-replay.tsx'

const states = [
  { value: '', label: 'All' },
  { value: 'failed', label: 'Failed' },
  { value: 'undelivered', label: 'Undelivered' },
  { value: 'pending', label: 'Pending' },
  { value: 'acknowledged', label: 'Acknowledged' },
]

/** Every delivery with what has become of it; those that failed can be replayed, one by one or all (R87). */
export function DeliveriesPage() {
  const { query } = useLocation()
  const filter: DeliveryFilter = {
    state: query.get('state') ?? '',
    type: query.get('type') ?? '',
    endpoint: query.get('endpoint') ?? '',
  }
  const { rows, error, reload, hasOlder, loadOlder } = useDeliveries(filter)
  const [isReplaying, setReplaying] = useState(false)
  const { run, isBusy, error: olderError } = useAct()
  const endpoints = useEndpoints()
  const change = (part: Partial<DeliveryFilter>) =>
    goTo(`/deliveries${queryOf({ ...filter, ...part })}`, { replace: true })

  return (
    <Page
      title="Deliveries"
      about="One for each event and endpoint; a failed one is tried again up to five times."
      actions={<Button onClick={() => setReplaying(true)}>Replay undelivered</Button>}
    >
      <Group gap="sm">
        <NativeSelect
          label="State"
          data={states}
          value={filter.state}
          onChange={(event) => change({ state: event.currentTarget.value })}
        />
        <NativeSelect
          label="Type"
          data={[{ value: '', label: 'All' }, ...eventTypes]}
          value={filter.type}
          onChange={(event) => change({ type: event.currentTarget.value })}
        />
        <NativeSelect
          label="Endpoint"
          data={[{ value: '', label: 'All' }, ...endpoints]}
          value={filter.endpoint}
          onChange={(event) => change({ endpoint: event.currentTarget.value })}
        />
      </Group>
      <DataTable
        caption="Deliveries"
        rows={rows}
        error={error}
        onRetry={reload}
        rowKey={({ deliveryId }) => deliveryId}
        empty={<EmptyState title="No such deliveries">They appear here as soon as their events arise.</EmptyState>}
        columns={columns}
      />
      <ErrorState error={olderError} />
      {hasOlder && (
        <Group justify="center">
          <Button variant="default" loading={isBusy} onClick={() => void run(loadOlder)}>
            Load more
          </Button>
        </Group>
      )}
      <BulkReplay isOpen={isReplaying} onClose={() => setReplaying(false)} onDone={reload} endpoints={endpoints} />
    </Page>
  )
}

const columns = [
  {
    header: 'Event',
    isName: true,
    cell: ({ deliveryId, eventType, isReplay }: Delivery) => (
      <Anchor href={deliveryHref(deliveryId)}>
        <PlainText value={eventType} />
        {isReplay && ' (replay)'}
      </Anchor>
    ),
  },
  { header: 'State', cell: (delivery: Delivery) => <DeliveryStateBadge {...delivery} /> },
  { header: 'Attempts', isNumber: true, cell: ({ attempts }: Delivery) => attempts },
  { header: 'Last answer', cell: (delivery: Delivery) => <LastAnswer {...delivery} /> },
  { header: 'Endpoint', cell: ({ url }: Delivery) => <span className="ui-url">{url}</span> },
  { header: 'Next attempt', cell: ({ nextAttemptAt }: Delivery) => <Time at={nextAttemptAt} /> },
  { header: 'Arose', cell: ({ createdAt }: Delivery) => <Time at={createdAt} /> },
]

function LastAnswer({ lastStatus, lastFailure }: Delivery) {
  if (lastStatus !== null) return <>{lastStatus}</>
  return (
    <span className="ui-bad">
      <PlainText value={lastFailure} />
    </span>
  )
}

/** Webhooks and alerts to choose from. */
function useEndpoints() {
  const webhooks = useApi<readonly Webhook[]>('/webhooks').data ?? []
  const alerts = useApi<readonly Alert[]>('/alerts').data ?? []
  return [
    ...webhooks.map(({ webhookId, url }) => ({ value: webhookId, label: url })),
    ...alerts.map(({ alertId, label, type }) => ({ value: alertId, label: `Alert: ${toVisible(label ?? type)}` })),
  ]
}
