import type { ReactNode } from 'react'
import { ErrorDetails } from '../../ui/error-details.tsx'
import { formatDuration } from '../../ui/format.ts'
import { JsonView } from '../../ui/json-view.tsx'
import { PlainText, toVisible } from '../../ui/plain-text.tsx'
import { StatusBadge, type Tone } from '../../ui/status-badge.tsx'
import { Time } from '../../ui/time.tsx'
import type { AttemptJson, RunJson } from '../contract.ts'
import { RunStateBadge } from './event-status.tsx'

const outcomeTones: Readonly<Record<AttemptJson['outcome'], Tone>> = {
  done: 'good',
  retry: 'warning',
  dead: 'bad',
  crashed: 'bad',
  dropped: 'neutral',
}

export interface EventRunProps {
  readonly run: RunJson
  /** Oldest first. */
  readonly attempts: readonly AttemptJson[]
  /** When the event was received: milliseconds since 1970. */
  readonly received: number
  /** Whether a replay has done what this run was given up for. */
  readonly isMended: boolean
  readonly acts: ReactNode
}

/** One handler's work on an event: its attempts, why they failed, when it is next tried, what it left behind. */
export function EventRun({ run, attempts, received, isMended, acts }: EventRunProps) {
  const name = toVisible(run.handler.slice(0, 100))
  return (
    <article className="ui-card ui-attempt" aria-label={name}>
      <div className="ui-row">
        <h3>
          <bdi>{name}</bdi>
        </h3>
        <RunStateBadge state={run.state} />
        {isMended && <StatusBadge status="replayed: done" tone="good" />}
        {run.item !== null && <StatusBadge status="sink" tone="info" />}
        {run.replay !== null && <StatusBadge status={`replay ${run.replay}`} tone="info" />}
        {run.crashed > 0 && <StatusBadge status={`crashed ${run.crashed}×`} tone="bad" />}
        {acts}
      </div>
      {attempts.length > 0 && (
        <ol className="ui-steps" aria-label={`Attempts of ${name}`}>
          {attempts.map((attempt) => (
            <Attempt key={attempt.attempt} attempt={attempt} received={received} />
          ))}
        </ol>
      )}
      {attempts.length === 0 && run.run_at === null && run.started_at === null && (
        <p className="ui-dimmed">It was not tried.</p>
      )}
      {run.state === 'running' && run.started_at !== null && (
        <p>
          Running since <Time at={run.started_at} />
        </p>
      )}
      {run.run_at !== null && (
        <p>
          Next try <Time at={run.run_at} />
        </p>
      )}
      <Effects run={run} />
    </article>
  )
}

function Attempt({ attempt, received }: { readonly attempt: AttemptJson; readonly received: number }) {
  const started = Date.parse(attempt.started_at)
  return (
    <li>
      <div className="ui-row">
        <strong>Attempt {attempt.attempt}</strong>
        <Time at={attempt.started_at} />
        <After ms={started - received} />
        <span>took {formatDuration(Math.max(0, Date.parse(attempt.ended_at) - started))}</span>
        <StatusBadge status={attempt.outcome} tone={outcomeTones[attempt.outcome] ?? 'neutral'} />
      </div>
      {attempt.error !== null && <ErrorDetails {...attempt.error} />}
    </li>
  )
}

/** What a run of a sink is to deliver, and which keys of its state a handler wrote. */
function Effects({ run }: { readonly run: RunJson }) {
  return (
    <>
      {run.item !== null && (
        <details>
          <summary>What it delivers</summary>
          <p className="ui-note">
            Idempotency key <PlainText value={run.item.idempotency_key} />
          </p>
          <JsonView text={JSON.stringify(run.item.payload)} label="Payload" />
        </details>
      )}
      {run.state_keys.length > 0 && (
        <p>
          Wrote to its state:{' '}
          {run.state_keys.map((key) => (
            <code key={key} className="ui-key">
              <PlainText value={key} />
            </code>
          ))}
        </p>
      )}
    </>
  )
}

/** How long after the receipt. */
export function After({ ms }: { readonly ms: number }) {
  return <span className="ui-dimmed">+{formatDuration(Math.max(0, ms))}</span>
}
