import { formatCounted, formatDuration } from '../../ui/format.ts'
import { JsonView } from '../../ui/json-view.tsx'
import { Dot, Status, type DotShape, type Tone } from '../../ui/status.tsx'
import { shortText, Text } from '../../ui/text.tsx'
import { Until } from '../../ui/values.tsx'
import type { AttemptJson, EventDetailJson, EventRowJson, EventSummaryJson, RunJson } from '../../../admin/events.ts'
import { LetterActions } from '../dead-letters.tsx'
import { ErrorBox, Fold, Stack } from '../error-box.tsx'
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

type RunState = Pick<RunJson, 'state' | 'attempt'>

const shapes: Readonly<Record<RunJson['state'], DotShape>> = {
  waiting: 'open',
  ready: 'open',
  running: 'open',
  suspect: 'open',
  done: 'done',
  held: 'failed',
  dead: 'failed',
  dropped: 'ended',
  expired: 'ended',
  superseded: 'ended',
  unmatched: 'ended',
}

const isDead = ({ state }: RunState) => state === 'dead' || state === 'held'
const isRetrying = ({ state, attempt }: RunState) => state === 'suspect' || (state === 'ready' && attempt > 0)
const shapeOf = (run: RunState) => (isRetrying(run) ? 'retrying' : shapes[run.state])

function nameOf(run: RunState): string {
  if (isDead(run)) return run.state === 'held' ? 'dead letter, blocks its key' : 'dead letter'
  return isRetrying(run) ? 'retrying' : run.state
}

const maxDots = 6

/** A dot per run; the status in words for an event without runs. */
export function RunDots({ status, runs = [] }: Pick<EventRowJson, 'status' | 'runs'>) {
  if (runs.length === 0) return <EventStatus status={status} />
  return (
    <span className="ui-id">
      {runs.slice(0, maxDots).map((run, index) => (
        // A handler may have several runs.
        <Dot key={index} shape={shapeOf(run)} label={`${shortText(run.handler)}: ${nameOf(run)}`} />
      ))}
      {runs.length > maxDots && <small className="ui-dim">+{runs.length - maxDots}</small>}
    </span>
  )
}

const attemptsOf = ({ timeline }: EventDetailJson, run: RunJson) => timeline.filter((one) => one.run_id === run.run_id)
const countText = (attempts: number) => formatCounted(attempts, 'attempt')

/** Failed runs with their latest error, and what an operator can do. */
export function RunErrors({ event }: { readonly event: EventDetailJson }) {
  const isOperator = useIsOperator()
  return event.runs.map((run) => {
    const error = attemptsOf(event, run).at(-1)?.error
    if (!error || run.state === 'done') return null
    const isReplayed = event.runs.some(
      ({ handler, state, run_id: id }) => handler === run.handler && state === 'done' && id > run.run_id,
    )
    const name = shortText(run.handler, 60)
    const verb = isDead(run) ? 'failed for good after' : 'failed'
    return (
      <ErrorBox
        key={run.run_id}
        label={`Error of ${name}`}
        title={`${name} ${verb} ${countText(run.attempt)}${isReplayed ? ' (a replay has succeeded since)' : ''}`}
        text={`${error.name}: ${error.message}`}
        stack={error.stack}
      >
        {isDead(run) && isOperator && (
          <span className="ui-row">
            <LetterActions which={[{ run_ids: [run.run_id] }]} what="1 run" of={name} />
          </span>
        )}
      </ErrorBox>
    )
  })
}

/** Each run with its attempts, timed from the receipt. */
export function Runs({ event }: { readonly event: EventDetailJson }) {
  if (event.runs.length === 0) return <p className="ui-dim">No handler takes this event.</p>
  const receivedAt = Date.parse(event.receipt.received_at)
  return (
    <ul className="ui-list-plain">
      {event.runs.map((run) => (
        <Run key={run.run_id} run={run} attempts={attemptsOf(event, run)} receivedAt={receivedAt} />
      ))}
    </ul>
  )
}

interface RunProps {
  readonly run: RunJson
  readonly attempts: readonly AttemptJson[]
  readonly receivedAt: number
}

function Run({ run, attempts, receivedAt }: RunProps) {
  const last = attempts.at(-1)
  return (
    <li className="console-run">
      <Dot shape={shapeOf(run)} label={nameOf(run)} />
      <div>
        <b>{shortText(run.handler, 60)}</b> {nameOf(run)}
        {run.replay !== null && ` · replay ${run.replay}`}
        {run.crashed > 0 && ` · ${formatCounted(run.crashed, 'crash', 'crashes')}`}
        {run.run_at !== null && (
          <>
            {' '}
            · next attempt <Until at={run.run_at} />
          </>
        )}
        {attempts.some(({ error }) => error !== null) && (
          <Fold isOpen={attempts.length < 4} title={countText(attempts.length)}>
            <ol className="ui-list-plain" aria-label={`Attempts of ${shortText(run.handler)}`}>
              {attempts.map((attempt) => (
                <Attempt key={attempt.attempt} attempt={attempt} receivedAt={receivedAt} />
              ))}
            </ol>
          </Fold>
        )}
        {run.item !== null && (
          <Fold title={`Outbox item ${shortText(run.item.idempotency_key, 100)}`}>
            <JsonView text={JSON.stringify(run.item.payload)} label="Item" />
          </Fold>
        )}
        {run.state_keys.length > 0 && (
          <p className="ui-dim">
            Wrote state <Text value={run.state_keys.join(', ')} />
          </p>
        )}
      </div>
      <span className="ui-dim ui-number">{last !== undefined && durationOf(last)}</span>
    </li>
  )
}

function Attempt({ attempt, receivedAt }: { readonly attempt: AttemptJson; readonly receivedAt: number }) {
  const { attempt: number, started_at: startedAt, outcome, error } = attempt
  return (
    <li>
      <span className="ui-dim">
        {number}. +{formatDuration(Math.max(0, Date.parse(startedAt) - receivedAt))}, took {durationOf(attempt)}
      </span>{' '}
      <span className={outcome === 'done' ? 'ui-text-good' : 'ui-text-bad'}>{outcome}</span>{' '}
      {error !== null && <Text value={`${error.name}: ${error.message}`} max={200} />}
      <Stack stack={error?.stack} />
    </li>
  )
}

function durationOf({ started_at: start, ended_at: end }: AttemptJson): string {
  return formatDuration(Math.max(0, Date.parse(end) - Date.parse(start)))
}
