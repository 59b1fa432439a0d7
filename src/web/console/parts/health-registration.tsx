import { LongText } from '../../ui/long-text.tsx'
import { Facts, Panel } from '../../ui/page.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { StatusBadge, type Tone } from '../../ui/status-badge.tsx'
import { Time } from '../../ui/time.tsx'
import type { SubscriptionJson } from '../contract.ts'
import { Command } from './overview-first-run.tsx'

const tones: Readonly<Record<SubscriptionJson['state'], Tone>> = { registered: 'good', begun: 'warning', failed: 'bad' }

/** What the receiver is registered for with the service. */
export function RegistrationPanel({ subscription }: { readonly subscription: SubscriptionJson | null }) {
  if (subscription === null) {
    return (
      <Panel title="Registration with the service">
        <EmptyState title="This inbox has registered nothing">
          A webhook that was made in the dashboard of the service is not seen here. To register one from here:
          <Command line={'onchain-inbox subscribe --url https://inbox.example.com/webhooks --events "*"'} />
        </EmptyState>
      </Panel>
    )
  }
  const { state, url, events, secret_label: label, at, answer } = subscription
  return (
    <Panel title="Registration with the service">
      <Facts
        facts={[
          ['State', <StatusBadge key="state" status={state} tone={tones[state]} />],
          ['Address', <LongText key="url" value={url} />],
          ['Events', <LongText key="events" value={events.join(', ')} />],
          ['Secret', <LongText key="label" value={label} />],
          ['Since', <Time key="at" at={at} />],
          ['Answer', <LongText key="answer" value={answer} />],
        ]}
      />
      {state === 'begun' && (
        <div>
          How it ended is not known: look in the dashboard of the service whether the webhook is there. If it is:
          <Command line="onchain-inbox subscribe --confirm" />
        </div>
      )}
    </Panel>
  )
}
