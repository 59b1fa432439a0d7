import { StatusBadge, type Tone } from '../../ui/status-badge.tsx'
import type { EventSummaryJson, RunJson } from '../contract.ts'

type Status = EventSummaryJson['status']

export const eventTones: Readonly<Record<Status, Tone>> = {
  pending: 'info',
  running: 'info',
  retrying: 'warning',
  held: 'bad',
  done: 'good',
  dead: 'bad',
  expired: 'neutral',
  superseded: 'neutral',
  unhandled: 'neutral',
  dropped: 'neutral',
}

const runTones: Readonly<Record<RunJson['state'], Tone>> = {
  waiting: 'info',
  ready: 'info',
  suspect: 'warning',
  running: 'info',
  held: 'bad',
  dead: 'bad',
  done: 'good',
  expired: 'neutral',
  superseded: 'neutral',
  unmatched: 'neutral',
  dropped: 'neutral',
}

export function EventStatusBadge({ status }: { readonly status: Status }) {
  return <StatusBadge status={status} tone={eventTones[status] ?? 'neutral'} />
}

export function RunStateBadge({ state }: { readonly state: RunJson['state'] }) {
  return <StatusBadge status={state} tone={runTones[state] ?? 'neutral'} />
}
