import { Button } from '@mantine/core'
import { useLocation } from 'wouter'
import { useAction, useGet } from '../../ui/api.tsx'
import { formatDuration } from '../../ui/format.ts'
import { JsonView } from '../../ui/json-view.tsx'
import { Facts } from '../../ui/shell.tsx'
import { Empty, Failure, Loaded } from '../../ui/states.tsx'
import { Status, type Tone } from '../../ui/status.tsx'
import { shortText, Text, TextBlock } from '../../ui/text.tsx'
import { Id, Time } from '../../ui/values.tsx'
import type { Attempt, Delivery, DeliveryDetail, DeliveryState } from '../contract.ts'

const tones: Readonly<Record<DeliveryState, Tone>> = {
  acknowledged: 'good',
  undelivered: 'bad',
  pending: 'info',
  cancelled: 'neutral',
}

/** State of a delivery; `retrying` if it is pending after a failure. */
export function DeliveryStatus({ state, lastFailure, lastStatus }: Delivery) {
  const isRetrying = state === 'pending' && (lastFailure !== null || lastStatus !== null)
  return <Status tone={isRetrying ? 'warning' : tones[state]}>{isRetrying ? 'retrying' : state}</Status>
}

/** A delivery with its attempts, its exact bytes, and two ways to send it again (R87, R88). */
export function DeliveryDetails({ id }: { readonly id: string }) {
  const path = `/deliveries/${encodeURIComponent(id)}`
  const detail = useGet<DeliveryDetail>(path)
  const [, navigate] = useLocation()
  const again = useAction((api, verb: 'replay' | 'duplicate') => api.send<Delivery>('POST', `${path}/${verb}`))
  const send = (verb: 'replay' | 'duplicate') =>
    again.mutate(verb, {
      onSuccess: ({ deliveryId }) => navigate(`/deliveries?open=${encodeURIComponent(deliveryId)}`),
    })
  return (
    <Loaded query={detail}>
      {(delivery) => (
        <>
          <div className="ui-row">
            <Button loading={again.isPending} onClick={() => send('replay')}>
              Replay
            </Button>
            <Button variant="default" loading={again.isPending} onClick={() => send('duplicate')}>
              Send duplicate
            </Button>
          </div>
          <Failure error={again.error} />
          <Facts
            facts={{
              Event: shortText(delivery.eventType),
              State: <DeliveryStatus {...delivery} />,
              Replay: delivery.isReplay ? 'same bytes and id, one attempt' : undefined,
              Endpoint: <Text value={delivery.url} />,
              Attempts: delivery.attempts,
              Duplicates: delivery.log.filter(({ isExtra }) => isExtra).length,
              Created: <Time at={delivery.createdAt} />,
              'Next attempt': <Time at={delivery.nextAttemptAt} />,
              'Event id': <Id value={delivery.eventId} />,
              'Delivery id': <Id value={delivery.deliveryId} />,
            }}
          />
          {delivery.log.length === 0 && (
            <Empty title="No attempt yet">The first one is queued or held by a fault.</Empty>
          )}
          {delivery.log.map((attempt, index) => (
            // Attempts have no id. The log only grows at its end.
            <AttemptDetails key={index} number={index + 1} attempt={attempt} />
          ))}
          <h3>Body</h3>
          <JsonView text={delivery.body} label="Body" />
          <details>
            <summary>Exact bytes</summary>
            <TextBlock value={delivery.body} label="Exact bytes" />
          </details>
        </>
      )}
    </Loaded>
  )
}

interface AttemptProps {
  /** Position in the log, from 1 on. */
  readonly number: number
  readonly attempt: Attempt
}

function AttemptDetails({ number, attempt }: AttemptProps) {
  const { status, failure, isExtra, faults } = attempt
  const name = isExtra ? 'Duplicate' : attempt.attempt === 1 ? 'First attempt' : `Retry ${attempt.attempt - 1}`
  const isGood = failure === null && status !== null && status >= 200 && status < 300
  return (
    <article className="ui-stack" aria-label={name}>
      <div className="ui-row">
        <b>{name}</b>
        <Status tone={isGood ? 'good' : 'bad'}>{status ?? 'no answer'}</Status>
        {faults.map((fault) => (
          <Status key={fault} tone="warning">
            fault: {shortText(fault)}
          </Status>
        ))}
        <span className="ui-dim">
          <Time at={attempt.at} />, {formatDuration(attempt.latencyMs)}
        </span>
      </div>
      {failure !== null && (
        <p className="ui-text-bad">
          <Text value={failure} />
        </p>
      )}
      <details>
        <summary>Headers and answer</summary>
        <div className="ui-stack">
          <TextBlock value={headerText(attempt.requestHeaders)} label={`Request headers ${number}`} />
          <TextBlock value={headerText(attempt.responseHeaders)} label={`Response headers ${number}`} />
          <TextBlock value={attempt.responseExcerpt} label={`Response body ${number}`} />
        </div>
      </details>
    </article>
  )
}

function headerText(headers: Attempt['requestHeaders']): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
}
