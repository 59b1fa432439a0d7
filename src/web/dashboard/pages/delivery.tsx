import { Button } from '@mantine/core'
import { useApiClient } from '../../ui/api.ts'
import { Address } from '../../ui/address.tsx'
import { goTo } from '../../ui/hash-router.ts'
import { JsonView } from '../../ui/json-view.tsx'
import { Facts, Page, Panel } from '../../ui/page.tsx'
import { PlainText } from '../../ui/plain-text.tsx'
import { EmptyState, ErrorState, LoadingState } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import { useAct } from '../../ui/use-act.ts'
import { useApi } from '../../ui/use-api.ts'
import { useStream } from '../../ui/use-stream.ts'
import { useThrottled } from '../../ui/use-throttled.ts'
import type { AttemptNews, Delivery, DeliveryDetail } from '../contract.ts'
import { DeliveryStateBadge } from '../parts/delivery-state.tsx'
import { deliveryHref } from '../parts/links.ts'
import { AttemptPanel } from './attempt-panel.tsx'

/** One delivery: every attempt with its answer, the exact bytes, and the two ways to send it again (R87, R88). */
export function DeliveryPage({ id }: { readonly id: string }) {
  const api = useApiClient()
  const path = `/deliveries/${encodeURIComponent(id)}`
  const { data, error, reload } = useApi<DeliveryDetail>(path)
  const refresh = useThrottled(reload, 300)
  const { run, isBusy, error: sendError } = useAct()
  useStream<AttemptNews>('attempt', ({ deliveryId }) => {
    if (deliveryId === id) refresh()
  })

  const again = (verb: 'replay' | 'duplicate') =>
    void run(async () => {
      const made = await api.send<Delivery>('POST', `${path}/${verb}`)
      goTo(deliveryHref(made.deliveryId).slice(1))
    })

  if (data === null)
    return (
      <Page title="Delivery">
        {error === null ? <LoadingState what="the delivery" /> : <ErrorState error={error} onRetry={reload} />}
      </Page>
    )
  return (
    <Page
      title={<PlainText value={data.eventType} />}
      about={
        <>
          To {data.url}
          {data.isReplay && '. A replay: the same bytes and id, one attempt.'}
        </>
      }
      actions={
        <>
          <Button loading={isBusy} onClick={() => again('replay')}>
            Replay
          </Button>
          <Button variant="default" loading={isBusy} onClick={() => again('duplicate')}>
            Send a duplicate
          </Button>
        </>
      }
    >
      <ErrorState error={sendError} />
      <ErrorState error={error} onRetry={reload} />
      <Facts
        facts={[
          ['State', <DeliveryStateBadge key="state" {...data} />],
          ['Attempts', data.attempts],
          ['Arose', <Time key="arose" at={data.createdAt} />],
          ['Next attempt', <Time key="next" at={data.nextAttemptAt} />],
          ['Event id', <Address key="event" value={data.eventId} />],
          ['Delivery id', <Address key="delivery" value={data.deliveryId} />],
        ]}
      />
      <Panel title="Attempts">
        {data.log.length === 0 && <EmptyState title="No attempt yet">The first one is under way, or held.</EmptyState>}
        {data.log.map((attempt, index) => (
          // An attempt has no id of its own, and the log only grows at its end.
          <AttemptPanel key={index} attempt={attempt} />
        ))}
      </Panel>
      <Panel title="Body" about="The bytes that are signed and sent, as text.">
        <JsonView text={data.body} label="Body" />
      </Panel>
    </Page>
  )
}
