import type { ReactNode } from 'react'
import { Panel } from '../../ui/page.tsx'
import { EmptyState } from '../../ui/states.tsx'
import { Time } from '../../ui/time.tsx'
import type { EventDetailJson, RunJson } from '../contract.ts'
import { After, EventRun } from './event-run.tsx'

export interface EventTimelineProps {
  readonly event: EventDetailJson
  /** What can be done with a run. */
  readonly actsOf: (run: RunJson) => ReactNode
}

/** From receipt to effects: when it was stored, and what each handler made of it. */
export function EventTimeline({ event, actsOf }: EventTimelineProps) {
  const { receipt, runs, timeline } = event
  const received = Date.parse(receipt.received_at)
  return (
    <Panel title="Timeline">
      <ol className="ui-steps" aria-label="Receipt">
        <li>
          <strong>Received</strong> <Time at={receipt.received_at} />
        </li>
        <li>
          <strong>Stored</strong>{' '}
          {receipt.stored_at === null ? (
            <span className="ui-dimmed">when was not noted</span>
          ) : (
            <>
              <Time at={receipt.stored_at} /> <After ms={Date.parse(receipt.stored_at) - received} />
            </>
          )}
        </li>
      </ol>
      {runs.length === 0 && (
        <EmptyState title="No handler took this event">
          A handler that is added later can be given it by a replay.
        </EmptyState>
      )}
      {runs.map((run) => (
        <EventRun
          key={run.run_id}
          run={run}
          attempts={timeline.filter((attempt) => attempt.run_id === run.run_id)}
          received={received}
          isMended={isMended(run, runs)}
          acts={actsOf(run)}
        />
      ))}
    </Panel>
  )
}

/** Whether a replay has done since what the run was given up for. */
function isMended({ run_id: id, handler, state }: RunJson, runs: readonly RunJson[]): boolean {
  if (state !== 'dead' && state !== 'held') return false
  return runs.some((run) => run.handler === handler && run.replay !== null && run.run_id > id && run.state === 'done')
}
