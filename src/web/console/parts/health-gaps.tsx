import { Alert, Anchor } from '@mantine/core'
import { useApiClient } from '../../ui/api.ts'
import { ConfirmButton } from '../../ui/confirm-button.tsx'
import { formatCount, formatDuration, formatTime } from '../../ui/format.ts'
import { Facts, Panel } from '../../ui/page.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { StatusBadge } from '../../ui/status-badge.tsx'
import { Time } from '../../ui/time.tsx'
import { queryOf } from '../api-client.ts'
import type { GapJson, HealthJson } from '../contract.ts'
import { useRole } from './role.ts'

const kinds: Readonly<Record<GapJson['kind'], string>> = {
  stopped: 'stopped in good order',
  killed: 'killed, or crashed',
  stood_still: 'stood still: suspended, unable to write, or its clock was set forward',
  restored: 'restored from a backup that knows nothing of this time',
}

const isOpen = ({ lost, acknowledged_at: acknowledgedAt }: GapJson) => lost !== null && acknowledgedAt === null

export interface GapsPanelProps extends Pick<HealthJson, 'gaps' | 'missing_sequence_numbers'> {
  readonly onDone: () => void
}

/** The times in which nothing was received: what of them comes by itself, and what does not. */
export function GapsPanel({ gaps, missing_sequence_numbers: missing, onDone }: GapsPanelProps) {
  const api = useApiClient()
  const isOperator = useRole() === 'operator'
  const open = gaps.filter(isOpen).length
  return (
    <Panel
      title="Times out of service"
      about="The sender tries a delivery again for 10 h 36 min. What it gave up meanwhile does not come by itself."
      actions={
        isOperator &&
        (open > 0 || missing > 0) && (
          <ConfirmButton
            label="Acknowledge"
            name="Acknowledge what is missing or lost"
            title="Is what is missing or lost dealt with?"
            verb="It is dealt with"
            isDangerous={false}
            onConfirm={async () => {
              await api.send('POST', '/gaps/acknowledge')
              onDone()
            }}
          >
            It is reported no longer. Nothing is fetched by this: replay what was given up in the dashboard of the
            service first, or look for it below.
          </ConfirmButton>
        )
      }
    >
      {missing > 0 && (
        <Alert
          color="red"
          variant="light"
          title={`${formatCount(missing)} accepted events are missing from the database`}
        >
          Numbers of the accept sequence are not there: the file was damaged, or replaced. Replay these events in the
          dashboard of the service, then acknowledge it.
        </Alert>
      )}
      {gaps.length === 0 && <EmptyState title="It was never out of service" />}
      {gaps.map((gap) => (
        <Gap key={`${gap.from} ${gap.to} ${gap.kind}`} gap={gap} />
      ))}
    </Panel>
  )
}

function Gap({ gap }: { readonly gap: GapJson }) {
  const { from, to, lost } = gap
  const title = `${formatTime(from)} to ${formatTime(to)}`
  return (
    <article className="console-gap" aria-label={title}>
      <h3>
        {title} <span className="ui-dimmed">{formatDuration(Math.max(0, Date.parse(to) - Date.parse(from)))}</span>
        {isOpen(gap) && <StatusBadge status="events lost" tone="bad" />}
        {gap.acknowledged_at !== null && <StatusBadge status="acknowledged" />}
      </h3>
      {lost !== null && (
        <p className={isOpen(gap) ? 'ui-bad' : ''}>
          What was first sent from <Time at={lost.from} /> to <Time at={lost.to} /> UTC does not come by itself.{' '}
          <Anchor className="console-link" href={`#/health${queryOf({ from: lost.from, to: lost.to })}`}>
            Look for it
          </Anchor>
        </p>
      )}
      <Facts
        facts={[
          ['How', kinds[gap.kind]],
          ['Clean stop', gap.clean_stop ? 'yes' : 'no'],
          ['Tried again until', <Time key="until" at={gap.retried_until} />],
          ['Came later', formatCount(gap.arrived)],
          ...(lost === null ? [] : ([['Of the lost ones', formatCount(gap.arrived_lost)]] as const)),
          ['Last of them', <Time key="last" at={gap.last_arrival_at} />],
          ['Acknowledged', <Time key="acknowledged" at={gap.acknowledged_at} />],
        ]}
      />
    </article>
  )
}
