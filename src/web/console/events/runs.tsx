import type { ReactNode } from 'react'
import { Action } from '../../ui/action.tsx'
import { formatDuration } from '../../ui/format.ts'
import { JsonView } from '../../ui/json-view.tsx'
import { Dot, Status, type DotShape, type Tone } from '../../ui/status.tsx'
import { shortText, Text, TextBlock } from '../../ui/text.tsx'
import { Until } from '../../ui/values.tsx'
import type { AttemptJson, EventDetailJson, EventRowJson, EventSummaryJson, RunJson } from '../contract.ts'
import { useIsOperator } from '../role.ts'

const statusTones: Readonly<Record<EventSummaryJson['status'], Tone>> = {
  pending: 'info',
  running: 'info',
  retrying: 'warning',
  held: 'bad',
  dead: 'bad',
  done: 'good',
  expired: 'neutral',
  superseded: 'neutral',
  unhandled: 'neutral',
  dropped: 'neutral',
}
export const eventStatuses = Object.keys(statusTones) as EventSummaryJson['status'][]

export function EventStatus({ status }: Pick<EventSummaryJson, 'status'>) {
  return <Status tone={statusTones[status] ?? 'neutral'}>{shortText(status, 20)}</Status>
}

const maxDots = 6

/** A dot per run; the status in words for an event without runs. */
export function RunDots({
  status,
  runs,
}: {
  readonly status: EventSummaryJson['status']
  readonly runs: NonNullable<EventRowJson['runs']>
}) {
  if (runs.length === 0) return <EventStatus status={status} />
  return (
    <span className="ui-dots">
      {runs.slice(0, maxDots).map((run, index) => (
        // A handler may have several runs.
        <Dot key={index} shape={shapeOf(run)} label={`${shortText(run.handler)}: ${nameOf(run)}`} />
      ))}
      {runs.length > maxDots && <small className="ui-dim">+{runs.length - maxDots}</small>}
    </span>
  )
}

type RunState = Pick<RunJson, 'state' | 'attempt'>

function shapeOf(run: RunState): DotShape {
  switch (run.state) {
    case 'done':
      return 'done'
    case 'held':
    case 'dead':
      return 'failed'
    case 'waiting':
    case 'ready':
    case 'running':
    case 'suspect':
      return isRetrying(run) ? 'retrying' : 'open'
    case 'dropped':
    case 'expired':
    case 'superseded':
    case 'unmatched':
      return 'ended'
  }
}

function isRetrying({ state, attempt }: RunState): boolean {
  return state === 'suspect' || (state === 'ready' && attempt > 0)
}

function nameOf(run: RunState): string {
  if (run.state === 'held') return 'dead letter, blocks its key'
  if (run.state === 'dead') return 'dead letter'
  return isRetrying(run) ? 'retrying' : run.state
}

/** Failed runs with their latest error, and what an operator can do. */
export function RunErrors({ event }: { readonly event: EventDetailJson }) {
  const isOperator = useIsOperator()
  const failed = event.runs.flatMap((run) => {
    const error = event.timeline.findLast((attempt) => attempt.run_id === run.run_id)?.error
    return error && run.state !== 'done' ? [{ run, error }] : []
  })
  return failed.map(({ run, error }) => {
    const isDead = run.state === 'dead' || run.state === 'held'
    const isReplayed = event.runs.some(
      ({ handler, state, run_id: id }) => handler === run.handler && state === 'done' && id > run.run_id,
    )
    return (
      <div key={run.run_id} className="ui-error" role="group" aria-label={`Error of ${shortText(run.handler)}`}>
        <strong>
          {shortText(run.handler, 60)} {isDead ? 'failed for good after' : 'failed'} {attemptsOf(run.attempt)}
          {isReplayed && ' (a replay has succeeded since)'}
        </strong>
        <code>
          <Text value={`${error.name}: ${error.message}`} max={500} />
        </code>
        {error.stack !== null && <Stack stack={error.stack} />}
        {run.run_at !== null && (
          <span>
            Next attempt <Until at={run.run_at} />
          </span>
        )}
        {isDead && isOperator && (
          <span className="ui-row">
            <RunActions run={run} />
          </span>
        )}
      </div>
    )
  })
}

function RunActions({ run }: { readonly run: RunJson }) {
  const name = shortText(run.handler)
  const body = { run_ids: [run.run_id] }
  return (
    <>
      <Action
        label="Requeue"
        name={`Requeue ${name}`}
        title={`Requeue the run of ${name}?`}
        run={async ({ api }) => void (await api.send('POST', '/dead-letters/requeue', body))}
      >
        The handler gets the event again, with its attempts reset.
      </Action>
      <Action
        label="Drop"
        name={`Drop ${name}`}
        title={`Drop the dead letter of ${name}?`}
        isDangerous
        needsReason
        run={async ({ api, reason }) => void (await api.send('POST', '/dead-letters/drop', { ...body, reason }))}
      >
        The run ends for good and no longer blocks its key.
      </Action>
    </>
  )
}

function Stack({ stack }: { readonly stack: string }) {
  return (
    <details>
      <summary>Stack trace</summary>
      <TextBlock value={stack} label="Stack trace" />
    </details>
  )
}

/** Each run with its attempts, timed from the receipt. */
export function Runs({ event }: { readonly event: EventDetailJson }) {
  if (event.runs.length === 0) return <p className="ui-dim">No handler takes this event.</p>
  const received = Date.parse(event.receipt.received_at)
  return (
    <ul className="ui-list-plain">
      {event.runs.map((run) => (
        <Run
          key={run.run_id}
          run={run}
          attempts={event.timeline.filter((attempt) => attempt.run_id === run.run_id)}
          received={received}
        />
      ))}
    </ul>
  )
}

interface RunProps {
  readonly run: RunJson
  readonly attempts: readonly AttemptJson[]
  readonly received: number
}

function Run({ run, attempts, received }: RunProps) {
  const last = attempts.at(-1)
  return (
    <li className="console-run">
      <Dot shape={shapeOf(run)} label={nameOf(run)} />
      <div>
        <b>{shortText(run.handler, 60)}</b> {nameOf(run)}
        {run.replay !== null && ` · replay ${run.replay}`}
        {run.crashed > 0 && ` · ${run.crashed} crashes`}
        {run.run_at !== null && (
          <>
            {' '}
            · next attempt <Until at={run.run_at} />
          </>
        )}
        {attempts.some(({ error }) => error !== null) && (
          <Fold isOpen={attempts.length < 4} title={attemptsOf(attempts.length)}>
            <ol className="ui-list-plain" aria-label={`Attempts of ${shortText(run.handler)}`}>
              {attempts.map((attempt) => (
                <Attempt key={attempt.attempt} attempt={attempt} received={received} />
              ))}
            </ol>
          </Fold>
        )}
        {run.item !== null && (
          <Fold title="Outbox item">
            <p>
              Idempotency key{' '}
              <code>
                <Text value={run.item.idempotency_key} />
              </code>
            </p>
            <JsonView text={JSON.stringify(run.item.payload)} label="Item" />
          </Fold>
        )}
        {run.state_keys.length > 0 && (
          <p className="ui-dim">
            Wrote state{' '}
            <code>
              <Text value={run.state_keys.join(', ')} />
            </code>
          </p>
        )}
      </div>
      <span className="ui-dim ui-number">{last !== undefined && durationOf(last)}</span>
    </li>
  )
}

function Attempt({ attempt, received }: { readonly attempt: AttemptJson; readonly received: number }) {
  const { attempt: number, started_at: startedAt, outcome, error } = attempt
  return (
    <li>
      <span className="ui-dim">
        {number}. +{formatDuration(Math.max(0, Date.parse(startedAt) - received))}, took {durationOf(attempt)}
      </span>{' '}
      <span className={outcome === 'done' ? 'ui-text-good' : 'ui-text-bad'}>{outcome}</span>
      {error !== null && (
        <>
          {' '}
          <code>
            <Text value={`${error.name}: ${error.message}`} max={200} />
          </code>
          {error.stack !== null && <Stack stack={error.stack} />}
        </>
      )}
    </li>
  )
}

export function Fold({
  title,
  isOpen = false,
  children,
}: {
  readonly title: string
  readonly isOpen?: boolean
  readonly children: ReactNode
}) {
  return (
    <details open={isOpen}>
      <summary>{title}</summary>
      {children}
    </details>
  )
}

function attemptsOf(count: number): string {
  return count === 1 ? '1 attempt' : `${count} attempts`
}

function durationOf({ started_at: start, ended_at: end }: AttemptJson): string {
  return formatDuration(Math.max(0, Date.parse(end) - Date.parse(start)))
}
